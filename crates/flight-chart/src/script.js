// Tooltips for whatever has a data-tip, and legends that hide their series.
(() => {
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  document.body.append(tip);
  // The browser would show the title of a drawing as a second tooltip.
  for (const title of document.querySelectorAll('svg[role=img] > title')) {
    title.parentNode.setAttribute('aria-label', title.textContent);
    title.remove();
  }
  document.addEventListener('pointermove', (event) => {
    const mark = event.target.closest('[data-tip]');
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    tip.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = Math.max(0, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)) + 'px';
  });
  document.addEventListener('click', (event) => {
    const button = event.target.closest('.legend button');
    if (!button) return;
    const shown = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', shown);
    const series = `g[data-series="${button.dataset.series}"]`;
    for (const part of button.closest('figure').querySelectorAll(series)) part.toggleAttribute('hidden', !shown);
  });
})();
