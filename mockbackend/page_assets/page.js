// The page works without this; with it the journal is live.
(() => {
  const { events, journal } = document.body.dataset;
  const parts = ['counts', 'entries', 'stub-list'];
  if (!document.getElementById('entries')) return;
  let busy = false, again = false;

  const show = (next) => {
    const open = [...document.querySelectorAll('details[open]')].map((d) => d.id);
    const focused = document.activeElement?.closest('details')?.id;
    for (const id of parts) {
      const from = next.getElementById(id), to = document.getElementById(id);
      if (from && to && from.innerHTML !== to.innerHTML) to.replaceChildren(...from.childNodes);
    }
    for (const id of open) document.getElementById(id)?.setAttribute('open', '');
    if (focused && !document.activeElement?.closest('details')) document.getElementById(focused)?.querySelector('summary')?.focus();
  };

  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), 'text/html'));
    } catch {
      // The mock has ended; the stream tries again by itself.
    }
    busy = false;
    if (again) { again = false; refresh(); }
  };

  new EventSource(events).addEventListener('journal', refresh);
  const clear = document.getElementById('clear');
  clear.hidden = false;
  clear.addEventListener('click', async () => {
    await fetch(journal, { method: 'DELETE' });
    refresh();
  });
})();
