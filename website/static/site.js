"use strict";
// What the pages do by themselves. Without JavaScript all of their text can be read all the same.
(() => {
  const nav = document.querySelector("nav.switch");
  if (!nav) return;

  // What the reader chose. A browser may refuse to remember; then each page starts afresh.
  const remember = (name, value) => {
    try {
      localStorage.setItem("d2l-" + name, value);
    } catch {}
  };
  const remembered = (name) => {
    try {
      return localStorage.getItem("d2l-" + name);
    } catch {
      return null;
    }
  };

  // A chapter's address: language, framework and name.
  const frameworks = nav.dataset.allFrameworks.replaceAll(" ", "|");
  const CHAPTER = new RegExp(`/([\\w-]+)/(${frameworks})/([\\w-]+)\\.html$`);

  const noteChoices = () => {
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[href]");
      if (!link) return;
      if (link.dataset.language) remember("language", link.dataset.language);
      const chapter = link.pathname.match(CHAPTER);
      if (chapter && link.host === location.host) remember("framework", chapter[2]);
    });
    if (nav.dataset.kind === "chapter" && !remembered("framework"))
      remember("framework", nav.dataset.framework);
    if (nav.dataset.kind !== "reference" && !remembered("language"))
      remember("language", nav.dataset.language);
  };

  // From pages that are in English only, the ways back lead to the reader's language; links to
  // chapters from pages that belong to no framework lead to the reader's framework.
  const useChoices = () => {
    const language = remembered("language");
    const framework = remembered("framework");
    const offered = [...nav.querySelectorAll("[data-language]")].map((a) => a.dataset.language);
    if (nav.dataset.kind === "reference" && offered.includes(language)) {
      const front = nav.querySelector(`[data-language="${language}"]`).getAttribute("href");
      const brands = document.querySelectorAll(".sidebar-brand, .header-center a");
      for (const brand of brands) brand.setAttribute("href", front);
      for (const link of document.querySelectorAll("article a.internal, .sidebar-tree a")) {
        const chapter = link.pathname.match(CHAPTER);
        if (!chapter) continue;
        // A link that names a framework leads there.
        const isNamed = link.textContent.trim().toLowerCase() === chapter[2];
        const to = `/${language}/${(!isNamed && framework) || chapter[2]}/${chapter[3]}.html`;
        link.pathname = link.pathname.replace(CHAPTER, to);
      }
    }
    const choices = document.querySelectorAll(".page-front li a.internal");
    for (const link of choices) {
      const chapter = link.pathname.match(CHAPTER);
      if (chapter && chapter[2] === framework) link.classList.add("chosen");
    }
  };

  // The sections of the page, and the one that stands at the top of the window.
  const sections = [...document.querySelectorAll("article section[id], article details[id]")];
  const header = document.querySelector(".mobile-header");
  const current = () => {
    // Where the bars end, also while they are hidden.
    const bars = (header?.offsetHeight ?? 0) + nav.offsetHeight;
    const line = Math.max(nav.getBoundingClientRect().bottom, bars) + 24;
    let at = 0;
    sections.forEach((section, index) => {
      if (section.getBoundingClientRect().top <= line) at = index;
    });
    return at;
  };

  // The same section in another framework, or the nearest one before it that is there too.
  const aim = () => {
    const at = current();
    for (const link of nav.querySelectorAll("a")) {
      const address = link.getAttribute("href").split("#")[0];
      const there = link.dataset.sections?.split(" ");
      let found = at;
      while (found > 0 && there && !there.includes(sections[found].id)) found--;
      const fragment = found > 0 ? "#" + sections[found].id : "";
      link.setAttribute("href", address + fragment);
    }
  };

  const keepSection = () => {
    if (!["chapter", "front"].includes(nav.dataset.kind)) return;
    let waiting = false;
    const soon = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        aim();
      });
    };
    addEventListener("scroll", soon, { passive: true });
    addEventListener("load", soon);
    document.addEventListener("toggle", soon, true);
    nav.addEventListener("pointerdown", aim);
    nav.addEventListener("focusin", aim);
    aim();
  };

  // A link into a fold opens it.
  const target = () => location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const openFold = () => {
    const place = target();
    const fold = place && place.closest("details");
    if (fold && !fold.open) {
      fold.open = true;
      place.scrollIntoView();
    }
  };

  // Tables that become lists and pictures that arrive move the text after the browser has jumped to
  // its place. Until the reader does something, the page stays at the place that was asked for.
  let held = false;
  const holdTarget = () => {
    const [arrival] = performance.getEntriesByType("navigation");
    if (!target() || ["back_forward", "reload"].includes(arrival?.type)) return;
    const watch = new ResizeObserver(() => target()?.scrollIntoView());
    watch.observe(document.querySelector("article"));
    held = true;
    const letGo = () => {
      watch.disconnect();
      held = false;
    };
    for (const kind of ["wheel", "touchstart", "pointerdown", "keydown", "hashchange"])
      addEventListener(kind, letGo, { once: true, passive: true, capture: true });
    addEventListener("load", () => setTimeout(letGo, 1000));
  };

  // Code without prompts: of an example, what was typed.
  const codeOf = (block) => {
    const lines = block.textContent.replace(/\n$/, "").split("\n");
    const typed = lines.filter((line) => /^(>>>|\.\.\.)( |$)/.test(line));
    return (typed.length ? typed.map((line) => line.slice(4)) : lines).join("\n");
  };
  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea"); // for pages that came over plain http
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };
  const addCopyButtons = () => {
    const blocks = document.querySelectorAll("article div.highlight");
    for (const block of blocks) {
      if (block.closest(".cell_output")) continue;
      const button = document.createElement("button");
      button.className = "copy";
      button.type = "button";
      button.textContent = nav.dataset.copy;
      button.addEventListener("click", async () => {
        await copy(codeOf(block.querySelector("pre")));
        button.textContent = nav.dataset.copied;
        setTimeout(() => (button.textContent = nav.dataset.copy), 1500);
      });
      block.append(button);
    }
  };

  // What scrolls within itself can be scrolled with the keyboard too.
  const makeScrollersReachable = () => {
    const boxes = document.querySelectorAll(
      "article pre, .text_html, .text_html div, .table-wrapper, math",
    );
    for (const box of boxes) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };

  // A table that is too wide for a phone becomes a list: a block for each row, each cell labelled.
  const NARROW = matchMedia("(max-width: 40em)");
  const linesOf = (cell) => [...cell.childNodes].map((n) => n.textContent.trim()).filter(Boolean);
  // What several columns share stands above the first of them alone: "latency" above "verdict", and
  // not above the "ratio" and "time" that follow, which "throughput" has too.
  const headsOf = (table) => {
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])].map(linesOf);
    const isTwice = (name) => (one, _at, all) => all.filter((other) => name(other) === name(one)).length > 1;
    const ends = heads.map(isTwice((lines) => lines.at(-1)));
    const wholes = heads.map(isTwice((lines) => lines.join("\n")));
    let group = [];
    return heads.map((lines, at) => {
      if (!wholes[at]) group = ends[at] ? lines.slice(0, -1) : [];
      return [...new Set([...group, ...lines])].join("\n");
    });
  };
  const fitTables = () => {
    for (const table of document.querySelectorAll(".cell_output .text_html table")) {
      const box = table.parentElement; // what scrolls
      table.classList.remove("listed", "dense");
      if (!NARROW.matches || box.scrollWidth <= box.clientWidth) continue;
      const heads = headsOf(table);
      if (!heads.length) continue;
      const cells = [...table.querySelectorAll("tbody td")];
      for (const cell of cells) {
        cell.dataset.head = heads[cell.cellIndex] || "";
        cell.classList.toggle("nothing", !cell.textContent.trim());
      }
      table.classList.add("listed");
      // Figures stand beside one another, sentences below one another.
      const figures = cells.filter((cell) => cell.cellIndex > 0);
      table.classList.toggle("dense", figures.every((cell) => cell.style.whiteSpace === "nowrap"));
    }
  };

  // A drawn graph shrinks with the page, though not so far that nobody can read it. Its stages stand
  // side by side where they fit; the others go below them.
  const SMALLEST = 0.65;
  const BETWEEN = 40; // between two stages, as they were drawn
  const MARGIN = 10;
  const fitGraphs = () => {
    for (const svg of document.querySelectorAll(".cell_output .text_html svg[width]")) {
      const room = svg.closest(".text_html").clientWidth / SMALLEST;
      if (!room) continue; // folded away
      svg.dataset.wide ??= svg.getAttribute("width");
      const stages = [...svg.querySelectorAll(":scope > g")];
      for (const stage of stages) stage.dataset.left ??= stage.transform.baseVal[0].matrix.e;
      const ends = stages.slice(1).map((stage) => stage.dataset.left - BETWEEN);
      ends.push(svg.dataset.wide - MARGIN);
      let [x, y, wide, high] = [MARGIN, MARGIN, 0, 0];
      stages.forEach((stage, at) => {
        const width = ends[at] - stage.dataset.left;
        if (x > MARGIN && x + width + MARGIN > room) [x, y, high] = [MARGIN, y + high + BETWEEN, 0];
        stage.setAttribute("transform", `translate(${x},${y})`);
        const drawn = stage.getBBox();
        [x, high] = [x + width + BETWEEN, Math.max(high, drawn.y + drawn.height)];
        wide = Math.max(wide, x - BETWEEN + MARGIN);
      });
      svg.setAttribute("width", wide);
      svg.setAttribute("height", y + high + MARGIN);
      svg.setAttribute("viewBox", `0 0 ${wide} ${y + high + MARGIN}`);
      svg.style.minWidth = `${SMALLEST * wide}px`;
    }
  };

  // On a phone, columns that were printed are set smaller before their lines break: a number on
  // another line than its name belongs to nothing.
  const fitColumns = () => {
    for (const pre of document.querySelectorAll(".cell_output pre")) {
      pre.style.fontSize = "";
      if (!NARROW.matches || !/\S {2,}\S/.test(pre.textContent)) continue;
      const style = getComputedStyle(pre);
      const around = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
      pre.style.whiteSpace = "pre";
      const fits = (pre.clientWidth - around) / (pre.scrollWidth - around);
      pre.style.whiteSpace = "";
      if (fits >= SMALLEST && fits < 1)
        pre.style.fontSize = `${0.99 * fits * parseFloat(style.fontSize)}px`;
    }
  };

  const fit = () => {
    fitGraphs();
    fitTables();
    fitColumns();
  };

  // On a phone the bars above the text give way while the reader goes down, and come back for a
  // place that the reader jumped to.
  const hideBars = () => {
    let before = scrollY;
    const follow = () => {
      const moved = scrollY - before;
      if (Math.abs(moved) < 8) return;
      const jumped = held || Math.abs(moved) > innerHeight;
      document.documentElement.classList.toggle("going-down", !jumped && moved > 0 && scrollY > 200);
      before = scrollY;
    };
    addEventListener("scroll", follow, { passive: true });
    nav.addEventListener("focusin", () => document.documentElement.classList.remove("going-down"));
  };

  // Which sections of a chapter were read, and where the reader was; the same in all languages.
  const READ = "read";
  const notes = () => {
    try {
      return JSON.parse(remembered(READ)) || {};
    } catch {
      return {};
    }
  };
  const noted = (chapter) => notes()[`${chapter[2]}/${chapter[3]}`];
  const notePlace = () => {
    if (nav.dataset.kind !== "chapter") return;
    const key = `${nav.dataset.framework}/${nav.dataset.chapter}`;
    const parts = sections.filter((one) => one.matches("article section section") && !one.parentElement.closest("section section"));
    const ends = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) target.dataset.seen = isIntersecting ? "1" : "";
    });
    for (const part of parts) {
      const end = part.appendChild(document.createElement("span"));
      end.className = "end";
      ends.observe(end);
    }
    setInterval(() => {
      if (document.hidden) return;
      const all = notes();
      const note = all[key] || { read: [] };
      const seen = parts.filter((part) => part.querySelector(":scope > .end").dataset.seen);
      note.read = [...new Set([...note.read, ...seen.map((part) => part.id)])];
      note.of = parts.length;
      note.at = sections[current()]?.id || "";
      const now = JSON.stringify({ ...all, [key]: note });
      if (now !== remembered(READ)) remember(READ, now);
    }, 1000);
  };
  const showProgress = () => {
    const links = document.querySelectorAll(".page-front li a.internal, .sidebar-tree a");
    for (const link of links) {
      const chapter = link.pathname.match(CHAPTER);
      const note = chapter && !link.hash && noted(chapter);
      if (!note || !note.read.length || link.closest(".toc-tree")) continue;
      const made = link.appendChild(document.createElement("span"));
      made.className = "progress";
      const read = Math.min(note.read.length, note.of);
      made.textContent = read === note.of ? "✓" : `${read}/${note.of}`;
      made.title = nav.dataset.progress.replace("{read}", read).replace("{all}", note.of);
      made.setAttribute("role", "img");
      made.setAttribute("aria-label", made.title);
      if (link.closest(".page-front") && note.at) link.hash = note.at; // where the reader was
    }
  };
  // The way in leads to the framework that the reader chose last, and to the place in it.
  const showStart = () => {
    const start = document.querySelector(".start-here a");
    const here = start?.pathname.match(CHAPTER);
    const choice = [...document.querySelectorAll(".page-front li a.internal")].find((link) => {
      const there = link.pathname.match(CHAPTER);
      return here && there?.[2] === remembered("framework") && there[3] === here[3];
    });
    if (!choice) return;
    const text = start.querySelector("span") || start;
    const parts = text.textContent.split(" · ");
    text.textContent = [...parts.slice(0, -1), choice.textContent].join(" · ");
    start.href = choice.href;
    start.hash = noted(choice.pathname.match(CHAPTER))?.at || "";
    const next = document.querySelector("a.next-page");
    if (next) next.href = choice.href;
  };

  // JupyterLab, wherever `make lab` runs it on this computer: it answers with its own address.
  const PORTS = Array.from({ length: 10 }, (_, at) => 8888 + at);
  const findLab = async () => {
    const ask = async (port) => {
      const answer = await fetch(`http://localhost:${port}/d2lhybrid/here`, {
        signal: AbortSignal.timeout(2000),
      });
      return (await answer.json()).lab;
    };
    return Promise.any(PORTS.map(ask)).catch(() => null);
  };
  const openLab = () => {
    const link = document.querySelector("a[data-lab]");
    if (!link) return;
    link.addEventListener("click", async (event) => {
      event.preventDefault();
      const tab = open("about:blank", "_blank");
      const lab = await findLab();
      const say = document.querySelector(".lab-missing");
      say.replaceChildren();
      if (lab) {
        tab.location = lab + link.dataset.lab;
        return;
      }
      tab?.close();
      say.dataset.say.split("`").forEach((text, at) => {
        if (at % 2) say.appendChild(document.createElement("code")).textContent = text;
        else say.append(text);
      });
    });
  };

  // Sphinx marks what was searched for, and fails where a drawing has the words in its title.
  const keepTitlesUnmarked = () => {
    for (const title of document.querySelectorAll("svg :is(title, desc)"))
      title.classList.add("nohighlight");
  };

  keepTitlesUnmarked();
  noteChoices();
  useChoices();
  showStart();
  showProgress();
  fit();
  keepSection();
  hideBars();
  notePlace();
  openLab();
  addCopyButtons();
  makeScrollersReachable();
  openFold();
  holdTarget();
  addEventListener("hashchange", openFold);
  addEventListener("resize", () => {
    fit();
    makeScrollersReachable();
  });
  document.addEventListener("toggle", fit, true);
  document.addEventListener("toggle", makeScrollersReachable, true);
})();
