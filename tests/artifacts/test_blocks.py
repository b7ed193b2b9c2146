"""Large files: checked block by block, on every core, and no less strictly than whole ones."""

import hashlib

import pytest
import torch
from artifact_files import edit

from d2lhybrid import inspect, load, save, verify
from d2lhybrid.artifacts.files import blocks, hash_pieces
from d2lhybrid.artifacts.manifest import BLOCK
from d2lhybrid.artifacts.store import read
from d2lhybrid.errors import DamagedArtifactError

NAME = "model.safetensors"


@pytest.fixture(scope="module")
def weights():
    return torch.arange(2200.0 * 2200).reshape(2200, 2200)


@pytest.fixture
def large(tmp_path, weights):
    """An artifact of one whole block and a piece of a second."""
    model = torch.nn.Linear(2200, 2200, bias=False)
    model.weight = torch.nn.Parameter(weights)
    save(model, tmp_path / "a", torch.ones(1, 2200), format="safetensors")
    return tmp_path / "a"


def test_both_kinds_of_hashes_are_there_and_right(large, weights):
    manifest, data = read(large).manifest, (large / NAME).read_bytes()
    entry = next(e for e in manifest.files if e.path == NAME)
    assert entry.sha256 == hashlib.sha256(data).hexdigest()
    parts = [hashlib.sha256(data[i : i + BLOCK]).hexdigest() for i in range(0, len(data), BLOCK)]
    assert manifest.blocks == {NAME: parts}
    assert len(parts) == 2
    assert torch.equal(load(large)["weight"], weights)
    assert verify(large).ok


def test_a_flipped_bit_in_any_block(large):
    size = (large / NAME).stat().st_size
    for position in (0, BLOCK - 1, BLOCK, size - 1):
        with open(large / NAME, "r+b") as file:
            file.seek(position)
            byte = file.read(1)[0]
            file.seek(position)
            file.write(bytes([byte ^ 1]))
            file.flush()
            with pytest.raises(DamagedArtifactError, match="other bytes"):
                load(large)
            assert not verify(large).ok
            file.seek(position)
            file.write(bytes([byte]))
    assert load(large)


def test_lists_that_leave_something_out(large):
    def change(digests):
        return lambda body: body["options"].update(block_sha256=digests)

    good = read(large).manifest.blocks[NAME]
    strange = [{NAME: good[:1]}, {NAME: []}, {NAME: [*good, good[0]]}, {NAME: "x" * 2}]
    strange += [{NAME: [good[0], "0" * 63]}, {"other": good}, 5, [NAME], {NAME: None}]
    for digests in strange:
        edit(large, change(digests))
        for verb in (load, verify, inspect):
            with pytest.raises(DamagedArtifactError, match="fields"):
                verb(large)
    edit(large, change({NAME: good[::-1]}))
    with pytest.raises(DamagedArtifactError, match="other bytes"):
        load(large)
    edit(large, lambda body: body["options"].pop("block_sha256") and None)
    assert load(large)


def test_pieces_cover_a_file_once(tmp_path):
    for size in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK):
        ends = [(start, start + length) for _, start, length in blocks(tmp_path, size)]
        assert sum(stop - start for start, stop in ends) == size
        assert [start for start, _ in ends[1:]] == [stop for _, stop in ends[:-1]]
    (tmp_path / "file").write_bytes(b"0123456789")
    found = hash_pieces([(tmp_path / "file", 2, 3), (tmp_path / "file", 0, 10)])
    assert found == [hashlib.sha256(part).hexdigest() for part in (b"234", b"0123456789")]


def test_every_weight_is_compared(tmp_path):
    """What the file has other than the model is found: value, shape or dtype."""
    from safetensors.torch import save_file

    from d2lhybrid.frameworks.torch.formats import differing_weight

    model = torch.nn.Linear(3, 2)
    good = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    for wrong in (good["weight"] + 1, good["weight"].T.contiguous(), good["weight"].double()):
        save_file({**good, "weight": wrong}, tmp_path / NAME)
        assert differing_weight(model, tmp_path) == "'weight' differs"
    model.weight.data.fill_(float("nan"))
    save_file({**good, "weight": model.weight.detach().clone()}, tmp_path / NAME)
    assert differing_weight(model, tmp_path) == ""
