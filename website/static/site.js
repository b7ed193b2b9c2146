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
  const CHAPTER = /\/(\w+)\/(mxnet|pytorch|tensorflow)\/([\w-]+)\.html$/;

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
        const to = `/${language}/${framework || chapter[2]}/${chapter[3]}.html`;
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
  const current = () => {
    const line = nav.getBoundingClientRect().bottom + 24;
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
  const openFold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && target.closest("details");
    if (fold && !fold.open) {
      fold.open = true;
      target.scrollIntoView();
    }
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
    const boxes = document.querySelectorAll("article pre, .text_html, .table-wrapper, math");
    for (const box of boxes) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };

  noteChoices();
  useChoices();
  keepSection();
  addCopyButtons();
  makeScrollersReachable();
  openFold();
  addEventListener("hashchange", openFold);
  addEventListener("resize", makeScrollersReachable);
  document.addEventListener("toggle", makeScrollersReachable, true);
})();
