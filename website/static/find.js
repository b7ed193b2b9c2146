"use strict";
// Finding words in a text as a reader types them: in any case, full width or half, accents or none.
const Find = (() => {
  const foldOne = (sign) => {
    // Accents fall from Latin letters only; a Japanese letter with its mark is another letter.
    const form = sign.codePointAt(0) < 0x250 ? sign.normalize("NFD") : sign.normalize("NFKC");
    return form[0].toLowerCase()[0].padEnd(sign.length, " ");
  };
  // As long as the text, so that a place in one is a place in the other.
  const fold = (text) => Array.from(text, foldOne).join("");

  // Where the words stand in a text: [start, end] of each, in order, none within another.
  const places = (text, words) => {
    const folded = fold(text);
    const found = [];
    for (const word of words) {
      const wanted = fold(word);
      if (!wanted.trim()) continue;
      for (let at = folded.indexOf(wanted); at >= 0; at = folded.indexOf(wanted, at + 1))
        found.push([at, at + wanted.length]);
    }
    found.sort(([a, b], [c, d]) => a - c || d - b);
    let end = 0;
    return found.filter(([from, to]) => from >= end && (end = to));
  };

  // Mark the words within an element, also those that consist of several elements; the marks.
  const mark = (element, words) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT, (node) =>
      node.parentElement.closest("button, math, svg, script, style, .headerlink")
        ? NodeFilter.FILTER_REJECT
        : NodeFilter.FILTER_ACCEPT,
    );
    const nodes = [];
    let text = "";
    while (walker.nextNode()) {
      nodes.push([text.length, walker.currentNode]);
      text += walker.currentNode.data;
    }
    const spots = places(text, words);
    const marks = [];
    for (const [start, node] of nodes.reverse()) {
      const end = start + node.data.length;
      for (const [from, to] of [...spots].reverse()) {
        if (to <= start || from >= end) continue;
        const rest = node.splitText(Math.max(from, start) - start);
        rest.splitText(Math.min(to, end) - Math.max(from, start));
        const made = document.createElement("mark");
        rest.replaceWith(made);
        made.append(rest);
        marks.unshift(made);
      }
    }
    return marks;
  };
  return { fold, places, mark };
})();
