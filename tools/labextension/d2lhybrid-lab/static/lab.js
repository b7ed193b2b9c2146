"use strict";
// What JupyterLab learns from `make lab`. It is written as JupyterLab loads it, so that nothing has
// to be built: a container with one module, which holds one plugin. Notebooks that are not of the
// collection stay as they are.
(() => {
  let shared; // JupyterLab's own modules

  const load = async (name) => {
    const [version] = Object.values(shared[name]);
    return (await version.get())();
  };

  const STYLE = `
    .jp-InputPlaceholder .jp-PlaceholderText { display: none; }
    .jp-OutputArea-output pre { word-break: normal; overflow-wrap: anywhere; }
    :root { --jp-private-horizontal-tab-width: 340px; }
    .d2lhybrid-ways { display: flex; gap: 4px; align-items: center; }
    .d2lhybrid-ways select { max-width: 11em; }
    .d2lhybrid-ways :is(select, button) {
      font: inherit; height: 22px; color: var(--jp-ui-font-color1);
      background: var(--jp-layout-color1); border: 1px solid var(--jp-border-color1);
      border-radius: 3px;
    }
    .d2lhybrid-progress { font-variant-numeric: tabular-nums; }
    .jp-InputPrompt[data-d2lhybrid-took]::after {
      content: attr(data-d2lhybrid-took); display: block; line-height: 1.2;
      color: var(--jp-ui-font-color2); font-size: 85%; white-space: nowrap;
    }
    a[data-d2lhybrid-read]::after {
      content: " " attr(data-d2lhybrid-read); color: var(--jp-ui-font-color2); font-size: 85%;
    }`;

  // The rows of links in the first cell: frameworks, languages. The bold one is the one at hand.
  const ways = (panel) => {
    const source = panel.context.model.cells.get(0)?.sharedModel.getSource() ?? "";
    return source
      .split("\n\n")
      .filter((row) => row.includes("**"))
      .map((row) =>
        [...row.matchAll(/\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)]+)\)/g)].map(([, here, name, path]) => ({
          name: here ?? name,
          path: path ?? "",
        })),
      );
  };

  // The cells from the one at the top of the window back to the first: the nearest comes first.
  const above = (panel) => {
    const cells = panel.content.widgets;
    const line = panel.content.node.getBoundingClientRect().top + 40;
    const at = cells.findIndex(
      ({ node }) => node.isConnected && node.getBoundingClientRect().bottom > line,
    );
    return cells
      .slice(0, Math.max(at, 0) + 1)
      .reverse()
      .filter(({ model }) => model.type === "markdown" && /^#/m.test(model.sharedModel.getSource()))
      .map(({ model }) => model.id);
  };

  const open = async (app, panel, path) => {
    const places = above(panel);
    const folder = panel.context.path.split("/").slice(0, -1);
    for (const part of path.split("/"))
      part === ".." ? folder.pop() : folder.push(decodeURIComponent(part));
    const other = await app.commands.execute("docmanager:open", { path: folder.join("/") });
    await other.context.ready;
    await other.revealed;
    const there = new Set(Array.from(other.context.model.cells, (cell) => cell.id));
    const place = places.find((id) => there.has(id));
    if (place && places.length > 1) await show(other, place);
  };

  // Brings a cell to the top of the window. JupyterLab guesses the height of cells that were never in
  // the window, so the first jump misses. A cell that only came near the top would not do: whoever
  // changes the language or framework twice would end up in the section before.
  const outerOf = (panel) =>
    panel.content.node.querySelector(".jp-WindowedPanel-outer") ?? panel.content.node;
  const show = async (panel, id) => {
    const at = Array.from(panel.context.model.cells).findIndex((cell) => cell.id === id);
    const cell = panel.content.widgets[at];
    const outer = outerOf(panel);
    for (let calm = 0, tries = 0; calm < 3 && tries < 30; tries++) {
      const { top, bottom } = outer.getBoundingClientRect();
      const place = cell.node.isConnected ? cell.node.getBoundingClientRect().top - top : NaN;
      const isLast = outer.scrollTop + outer.clientHeight > outer.scrollHeight - 2;
      const isThere = Math.abs(place) < 2 || (isLast && place > 0 && place < bottom - top);
      calm = isThere ? calm + 1 : 0;
      if (!isThere && Math.abs(place) < bottom - top) outer.scrollBy(0, place);
      else if (!isThere) {
        panel.content.activeCellIndex = at;
        await panel.content.scrollToItem(at, "start");
      }
      await new Promise((done) => setTimeout(done, 150));
    }
  };

  // A link to a section of another notebook opens it there, which JupyterLab itself misses: it looks
  // for the heading before the cell is drawn.
  const followLink = (app, event) => {
    const link = event.target.closest?.(".jp-NotebookPanel a[href*='.ipynb']");
    const [, path] = link?.pathname.match(/\/files\/(.+\.ipynb)$/) ?? [];
    if (!path || !link.hash || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    void openAt(app, decodeURIComponent(path), decodeURIComponent(link.hash.slice(1)));
  };
  const openAt = async (app, path, id) => {
    const other = await app.commands.execute("docmanager:open", { path });
    await other.context.ready;
    await other.revealed;
    const named = (source) =>
      [...source.matchAll(/^#+ +(.+)$/gm)].some(
        ([, title]) => title.replace(/[`*_]/g, "").replaceAll(" ", "-") === id.replace(/[`*_]/g, ""),
      );
    const place = Array.from(other.context.model.cells).find(
      (cell) =>
        id === `cell-id=${cell.id}` ||
        (cell.type === "markdown" && named(cell.sharedModel.getSource())),
    );
    if (place) await show(other, place.id);
  };

  const select = (app, panel, row, label) => {
    const made = document.createElement("select");
    made.setAttribute("aria-label", label);
    for (const { name, path } of row) made.add(new Option(name, path, !path, !path));
    made.addEventListener("change", () => {
      const path = made.value;
      made.value = "";
      void open(app, panel, path);
    });
    return made;
  };

  // What the reader has read, in this browser: the sections of each chapter whose end was in the
  // window. Cells have the same ids in all languages, so it is the same in all of them.
  const READ = "d2lhybrid-read";
  const notes = () => JSON.parse(localStorage.getItem(READ) ?? "{}");

  // The sections: where each begins and ends, and the id of its heading.
  const sections = (panel) => {
    const cells = panel.content.widgets;
    const found = [];
    cells.forEach(({ model, isHidden }, at) => {
      const source = model.type === "markdown" ? model.sharedModel.getSource() : "";
      if (/^## /.test(source)) found.push({ id: model.id, start: at, end: at });
      else if (found.length && !isHidden) found[found.length - 1].end = at;
    });
    return found.slice(0, -1); // the last one leads to other notebooks
  };

  const noteRead = (panel, chapter) => {
    const { top, bottom } = panel.content.node.getBoundingClientRect();
    const seen = ({ end }) => {
      const { node } = panel.content.widgets[end];
      const place = node.isConnected ? node.getBoundingClientRect().bottom : -1;
      return place > top && place <= bottom;
    };
    const all = notes();
    const parts = sections(panel);
    const read = new Set(all[chapter]?.read);
    parts.filter(seen).forEach(({ id }) => read.add(id));
    const note = { read: parts.map(({ id }) => id).filter((id) => read.has(id)), of: parts.length };
    if (JSON.stringify(all[chapter]) !== JSON.stringify(note))
      localStorage.setItem(READ, JSON.stringify({ ...all, [chapter]: note }));
    return note;
  };

  const short = ({ read, of }) => (read.length < of ? `${read.length}/${of}` : "✓");
  const long = ({ read, of }, sentence) =>
    sentence.replace("{read}", read.length).replace("{all}", of);

  // The button that says how far the reader is, and leads to the first section not read yet.
  const progress = (panel, chapter, say) => {
    const button = document.createElement("button");
    button.className = "d2lhybrid-progress";
    const look = () => {
      if (!panel.isVisible || document.hidden) return;
      const note = noteRead(panel, chapter);
      const last = { path: panel.context.path, title: panel.title.label };
      localStorage.setItem(LAST, JSON.stringify(last));
      button.textContent = short(note);
      button.title = long(note, say.progress_next);
      button.setAttribute("aria-label", button.title);
    };
    const timer = setInterval(look, 1000);
    panel.disposed.connect(() => clearInterval(timer));
    button.addEventListener("click", () => {
      const read = new Set(notes()[chapter]?.read);
      const next = sections(panel).find(({ id }) => !read.has(id));
      if (next) void show(panel, next.id);
    });
    return button;
  };

  // On the front page, how far each chapter was read stands beside the link to it, and below the
  // languages is a link for those who come back.
  const LAST = "d2lhybrid-last";
  const showOnFrontPage = (app, widget, say) => {
    const languages = widget.node.querySelector("p strong")?.closest("p");
    const last = JSON.parse(localStorage.getItem(LAST) ?? "null");
    if (languages && last && !widget.node.querySelector(".d2lhybrid-continue")) {
      const link = document.createElement("a");
      link.className = "d2lhybrid-continue";
      link.href = "#";
      link.textContent = say.go_on.replace("{title}", last.title);
      link.addEventListener("click", (event) => {
        event.preventDefault();
        void app.commands.execute("docmanager:open", { path: last.path });
      });
      languages.append(document.createElement("br"), link);
    }
    const all = notes();
    for (const link of widget.node.querySelectorAll("td a")) {
      const chapter = link.href.match(/([\w-]+\/[\w-]+)\.ipynb/)?.[1];
      if (!all[chapter]?.read.length) continue;
      link.dataset.d2lhybridRead = short(all[chapter]);
      link.title = long(all[chapter], say.progress);
    }
  };

  // What JupyterLab writes into a notebook about its kernel is no change of the reader's: a notebook
  // that was only opened has nothing to save.
  const forgiveKernel = ({ context: { model } }) => {
    model.metadataChanged.connect((_model, { key }) => {
      const isOfKernel = key === "language_info" || key === "kernelspec";
      if (isOfKernel && !model.dirty) queueMicrotask(() => (model.dirty = false));
    });
  };

  // Below the number of a cell that takes more than a few seconds: how long it took us, and from
  // when it runs here, how long it has been running.
  const LONG = 3;
  const inWords = (seconds) =>
    seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const clock = (panel, expected) => {
    const texts = new Map(); // by the id of a cell
    for (const [id, seconds] of Object.entries(expected)) texts.set(id, `≈ ${inWords(seconds)}`);
    const started = new Map(); // when a request began to run, by its id
    const cells = new Map(); // the cell that it runs
    const write = () => {
      for (const [request, start] of started) {
        const seconds = Math.round((performance.now() - start) / 1000);
        if (seconds >= LONG) texts.set(cells.get(request), inWords(seconds));
      }
      // JupyterLab draws a cell when it comes into the window, so all of them are written again.
      for (const { model, node } of panel.content.widgets)
        for (const prompt of texts.has(model.id) ? node.querySelectorAll(".jp-InputPrompt") : [])
          prompt.dataset.d2lhybridTook = texts.get(model.id);
    };
    const note = (_session, { msg, direction }) => {
      const [kind, request] = [msg.header.msg_type, msg.parent_header?.msg_id];
      const state = kind === "status" && cells.has(request) && msg.content.execution_state;
      if (direction === "send" && kind === "execute_request" && msg.metadata.cellId)
        cells.set(msg.header.msg_id, msg.metadata.cellId);
      else if (state === "busy") {
        started.set(request, performance.now());
        texts.set(cells.get(request), "");
      } else if (state === "idle") {
        write();
        started.delete(request);
        cells.delete(request);
      }
    };
    const { sessionContext } = panel.context;
    const listen = () => sessionContext.session?.anyMessage.connect(note);
    sessionContext.sessionChanged.connect(listen);
    sessionContext.statusChanged.connect((_context, status) => {
      if (/restarting|dead|terminating/.test(status)) started.clear();
    });
    listen();
    const timer = setInterval(write, 1000);
    panel.disposed.connect(() => clearInterval(timer));
  };

  // The contents of the first chapter that is opened stand beside it, where there is room for both.
  const ROOM = 1200; // pixels
  let offered = false;
  const showContents = (app, panel) => {
    if (offered || window.innerWidth < ROOM) return;
    offered = true;
    app.shell.activateById("table-of-contents");
    app.shell.activateById(panel.id);
  };

  // Where the reader is: the first cell in the window, and how far it is scrolled.
  const placeOf = (panel) => {
    const { top } = panel.content.node.getBoundingClientRect();
    const first = panel.content.widgets.find(
      ({ node }) => node.isConnected && node.getBoundingClientRect().bottom > top,
    );
    return first && { id: first.model.id, offset: first.node.getBoundingClientRect().top - top };
  };
  const goBack = async (panel, place) => {
    const cell = () => panel.content.widgets.find(({ model }) => model.id === place?.id);
    if (!cell()) return;
    await show(panel, place.id);
    const { top } = panel.content.node.getBoundingClientRect();
    outerOf(panel).scrollBy(0, cell().node.getBoundingClientRect().top - top - place.offset);
  };

  const reset = async (panel, say) => {
    const { Dialog, showDialog } = await load("@jupyterlab/apputils");
    const { ServerConnection } = await load("@jupyterlab/services");
    const answer = await showDialog({
      title: say.reset,
      body: say.reset_warning,
      buttons: [
        Dialog.cancelButton({ label: say.cancel }),
        Dialog.warnButton({ label: say.reset }),
      ],
    });
    if (!answer.button.accept) return;
    const place = placeOf(panel);
    const settings = ServerConnection.makeSettings();
    const response = await ServerConnection.makeRequest(
      `${settings.baseUrl}d2lhybrid/reset`,
      { method: "POST", body: JSON.stringify({ path: panel.context.path }) },
      settings,
    );
    if (response.ok) {
      await panel.context.revert();
      await goBack(panel, place);
    } else await showDialog({ title: say.reset, body: say.reset_unknown.replace("{path}", panel.context.path) });
  };

  const equip = async (app, panel, inLanguage) => {
    await panel.context.ready;
    const ours = panel.context.model.getMetadata("d2lhybrid");
    if (!ours) return;
    const say = inLanguage(ours.language);
    forgiveKernel(panel);
    clock(panel, ours.slow_cells ?? {});
    void panel.revealed.then(() => showContents(app, panel));
    // JupyterLab takes a new title for a new name of the file, so it must not hear of this one.
    if (ours.title && panel.title.changed.disconnect(panel._onTitleChanged, panel)) {
      const name = () => {
        panel.title.label = ours.title;
      };
      name();
      panel.context.pathChanged.connect(name);
    }
    const { Widget } = await load("@lumino/widgets");
    const node = document.createElement("div");
    node.className = "d2lhybrid-ways";
    const labels = [say.frameworks, say.languages];
    ways(panel).forEach((row, at) => node.append(select(app, panel, row, labels[at] ?? "")));
    const button = document.createElement("button");
    button.textContent = "↺"; // short, or the toolbar of a narrow window hides what follows
    button.title = say.reset;
    button.setAttribute("aria-label", say.reset);
    button.className = "d2lhybrid-reset";
    button.addEventListener("click", () => void reset(panel, say));
    node.append(button, progress(panel, `${ours.framework}/${ours.chapter}`, say));
    panel.toolbar.insertBefore("spacer", "d2lhybrid", new Widget({ node }));
  };

  const plugin = {
    id: "d2lhybrid-lab:plugin",
    autoStart: true,
    activate: async (app) => {
      document.head.appendChild(document.createElement("style")).textContent = STYLE;
      const { PageConfig } = await load("@jupyterlab/coreutils");
      // In the language of the page; otherwise in the one that JupyterLab was started in.
      const words = JSON.parse(PageConfig.getOption("d2lhybrid"));
      const say = (language) => words.all[language] ?? words.all[words.language];
      const known = new WeakSet();
      const look = () => {
        for (const widget of app.shell.widgets("main")) {
          const front = (widget.context?.path ?? "").match(/README(?:\.(\w+))?\.md$/);
          if (front) showOnFrontPage(app, widget, say(front[1] ?? "en"));
          if (known.has(widget) || !widget.context || !widget.content?.widgets) continue;
          known.add(widget);
          void equip(app, widget, say);
        }
      };
      document.addEventListener("click", (event) => followLink(app, event), true);
      app.shell.layoutModified.connect(look);
      setInterval(look, 1000); // for what was read meanwhile
      look();
    },
  };

  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB["d2lhybrid-lab"] = {
    init: (scope) => {
      shared = scope;
    },
    get: async () => () => ({ __esModule: true, default: plugin }),
  };
})();
