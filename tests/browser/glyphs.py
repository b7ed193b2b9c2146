"""Are Chinese and Japanese characters drawn as such, or as the boxes of a font that lacks them?"""

# Draws each character as the element's font would, and a code point that no font has: equal
# pixels mean a box.
_BOXES = """(element, characters) => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 48;
  const context = canvas.getContext('2d', {willReadFrequently: true});
  const draw = character => {
    context.clearRect(0, 0, 48, 48);
    context.font = '24px ' + getComputedStyle(element).fontFamily;
    context.fillText(character, 8, 34);
    return context.getImageData(0, 0, 48, 48).data.join();
  };
  const box = draw('\\u{10FFFD}');
  return characters.filter(character => [box, draw(' ')].includes(draw(character)));
}"""


def cjk(text):
    """The Chinese and Japanese characters of a text, kana and full-width punctuation included."""
    return {sign for sign in text if "\u3001" <= sign <= "\u9fff" or "\uff01" <= sign <= "\uff5e"}


def boxes(element, characters):
    """Those that the browser draws in the element's font as boxes, or not at all."""
    found: list[str] = element.evaluate(_BOXES, sorted(characters))
    return found
