"use strict";
// Below each page that Sphinx's search finds stands what it says there, with the words marked.
{
  // Files cannot ask for other files, so there the names of the pages are all.
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";

  // Characters of an excerpt, and of those before its first word that was asked for.
  const [LONGEST, BEFORE] = /^(zh|ja)/.test(document.documentElement.lang) ? [110, 30] : [200, 60];
  const PROSE = "p, li, dd";
  const REST = "h1, h2, h3, h4, dt, pre, td, th, .text_html div, text";
  const CJK = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー";
  const WORD = new RegExp(`(?:(?![${CJK}])[\\p{L}\\p{N}_])+`, "gu");
  const isCJK = (word) => new RegExp(`[${CJK}]`, "u").test(word);
  const stemmer = new Stemmer();
  const known = new Map();
  const forms = (word) => {
    if (!known.has(word)) {
      const plain = word.normalize("NFD").replace(/\p{M}/gu, ""); // as many people type it
      known.set(word, [word, plain].map((form) => stemmer.stemWord(form)));
    }
    return known.get(word);
  };

  // Where a text has a word that was asked for: Latin words by their stems, as Sphinx has indexed
  // them; Chinese and Japanese ones come as pairs of characters.
  const placesOf = (text, wanted) => {
    const lower = text.toLowerCase();
    if (isCJK(wanted)) return [...lower.matchAll(wanted)];
    const fits = (form) => form === wanted || (wanted.length > 2 && form.includes(wanted));
    return [...lower.matchAll(WORD)].filter(([word]) => forms(word).some(fits));
  };

  // The text with marks: places that touch or overlap become one.
  const marked = (text, places) => {
    const isMarked = Array(text.length).fill(false);
    for (const { 0: word, index } of places) isMarked.fill(true, index, index + word.length);
    const shown = document.createElement("p");
    shown.className = "context nohighlight";
    for (let at = 0, end; at < text.length; at = end) {
      end = isMarked.indexOf(!isMarked[at], at);
      if (end < 0) end = text.length;
      const piece = document.createElement(isMarked[at] ? "mark" : "span");
      piece.className = "nohighlight"; // Sphinx would mark once more what was typed
      piece.textContent = text.slice(at, end);
      shown.append(piece);
    }
    return shown;
  };

  // From the first paragraph that has the most of the words; from what is no prose if none has any.
  Search.makeSearchSummary = (html, wanted, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const main = page.querySelector('[role="main"]');
    for (const extra of main.querySelectorAll(".headerlink, script, style")) extra.remove();
    const within = (anchor && main.querySelector(anchor)) || main;
    const findIn = (selector) => {
      let [best, most] = ["", 0];
      for (const block of within.querySelectorAll(selector)) {
        const text = block.textContent.replace(/\s+/g, " ").trim();
        const count = [...wanted].filter((word) => placesOf(text, word).length).length;
        if (count > most) [best, most] = [text, count];
        if (most === wanted.size) break;
      }
      return best;
    };
    const text = findIn(PROSE) || findIn(REST);
    const placesIn = (part) => [...wanted].flatMap((word) => placesOf(part, word));
    const first = Math.min(...placesIn(text).map((place) => place.index));
    // Cut between words where there are spaces.
    let start = Math.max(0, Math.min(first - BEFORE, text.length - LONGEST));
    const space = text.indexOf(" ", start);
    if (start && space > 0 && space < first) start = space + 1;
    let end = start + LONGEST;
    const last = text.lastIndexOf(" ", end);
    if (end < text.length && last > end - 20) end = last;
    const excerpt = (start ? "… " : "") + text.slice(start, end) + (end < text.length ? " …" : "");
    return marked(excerpt, placesIn(excerpt));
  };
}
