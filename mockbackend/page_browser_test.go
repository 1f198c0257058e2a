package mockbackend_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
)

// A browser is a headless Chromium that is told what to do over a pipe, in the
// DevTools protocol.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	session string
	calls   int
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("there is no Chromium to look at the page with; `apt-get install chromium` brings one")
	}
	in, toChild, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromChild, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{in, out}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	// A browser that does not come up must not hold the tests up either.
	watchdog := time.AfterFunc(4*patience, func() { _ = cmd.Process.Kill() })
	b := &browser{t: t, in: toChild, out: bufio.NewReader(fromChild)}
	t.Cleanup(func() {
		b.session = ""
		b.send("Browser.close", nil)
		_ = cmd.Wait()
		watchdog.Stop()
		toChild.Close()
		fromChild.Close()
	})
	target := b.do("Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	b.session = b.do("Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	return b
}

func (b *browser) send(method string, params map[string]any) {
	b.t.Helper()
	b.calls++
	message := map[string]any{"id": b.calls, "method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	data, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(data, 0)); err != nil {
		b.t.Errorf("telling the browser: %v", err)
	}
}

// do sends a command and waits for its result; events are passed over.
func (b *browser) do(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.send(method, params)
	for {
		data, err := b.out.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("waiting for the browser: %v", err)
		}
		var message struct {
			ID     int
			Result map[string]any
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(data[:len(data)-1], &message); err != nil {
			b.t.Fatal(err)
		}
		switch {
		case message.ID != b.calls:
		case message.Error != nil:
			b.t.Fatalf("%s: %s", method, message.Error.Message)
		default:
			return message.Result
		}
	}
}

// open shows a page in a window of some width, light or dark.
func (b *browser) open(url string, width int, scheme string) {
	b.t.Helper()
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false})
	b.do("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}})
	if failed := b.do("Page.navigate", map[string]any{"url": url})["errorText"]; failed != nil {
		b.t.Fatalf("opening %s: %v", url, failed)
	}
	b.eval(`new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))`)
}

// eval gives the value of an expression in the page, once it has one.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	result := b.do("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true})
	if thrown, ok := result["exceptionDetails"]; ok {
		b.t.Fatalf("%s: %v", expression, thrown)
	}
	return result["result"].(map[string]any)["value"]
}

// until waits in the page for a condition.
func (b *browser) until(condition string) {
	b.t.Helper()
	b.eval(`new Promise((done, fail) => {
		const end = Date.now() + ` + fmt.Sprint(patience.Milliseconds()) + `;
		const look = () => (` + condition + `) ? done() : Date.now() > end ? fail('in vain') : setTimeout(look, 20);
		look();
	})`)
}

// lowContrast gives the texts whose contrast is below what WCAG 2 asks for at
// level AA, 4.5 to 1.
const lowContrast = `(() => {
	const part = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
	const rgba = s => s.match(/[\d.]+/g).map(Number);
	const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
	const back = e => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
	const low = [];
	for (const e of document.querySelectorAll('body *')) {
		if (['SCRIPT', 'STYLE', 'OPTION'].includes(e.tagName) || !e.checkVisibility()) continue;
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
		const a = light(rgba(getComputedStyle(e).color)), b = light(back(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) low.push(e.tagName + ' ' + e.textContent.trim().slice(0, 30) + ' ' + ratio.toFixed(2));
	}
	return low.join('\n');
})()`

// nameless gives the controls that have no name for a screen reader, and what
// else it would stumble over.
const nameless = `(() => {
	const wrong = [];
	for (const e of document.querySelectorAll('input:not([type=hidden]), select')) if (!e.labels.length || !e.labels[0].textContent.trim()) wrong.push(e.outerHTML);
	for (const e of document.querySelectorAll('button, a, summary')) if (!e.textContent.trim()) wrong.push(e.outerHTML);
	for (const name of ['main', 'header', 'nav', 'h1']) if (document.querySelectorAll(name).length !== 1) wrong.push(name);
	for (const e of document.querySelectorAll('section')) if (!document.getElementById(e.getAttribute('aria-labelledby'))) wrong.push(e.id);
	for (const e of document.querySelectorAll('[id]')) if (document.querySelectorAll('#' + CSS.escape(e.id)).length > 1) wrong.push('twice: ' + e.id);
	if (!document.documentElement.lang) wrong.push('lang');
	return wrong.join('\n');
})()`

func TestPageInBrowser(t *testing.T) {
	b := openBrowser(t)
	srv := start(t, mockbackend.Options{})
	attack(t, srv)
	client := newClient(t)
	call(t, client, "GET", srv.URL()+"/"+strings.Repeat("long", 200)+"?q="+strings.Repeat("x", 500), "", "X-Long", strings.Repeat("y", 900))
	call(t, client, "POST", srv.URL()+"/orders", strings.Repeat("\xff\x00", 500))
	call(t, client, "GET", srv.URL()+"/status/500", "")
	for _, width := range []int{400, 1200} {
		for scheme, back := range map[string]string{"light": "rgb(251, 251, 249)", "dark": "rgb(21, 24, 27)"} {
			t.Run(fmt.Sprint(width, " ", scheme), func(t *testing.T) {
				b.t = t
				b.open(srv.URL()+"/", width, scheme)
				b.eval(`document.querySelectorAll('details').forEach(d => d.open = true)`)
				for _, check := range []struct {
					what, expression string
					want             any
				}{
					{"title", `document.title`, "Mock backend"},
					{"code of a request that ran", `window.pwned ?? 'none'`, "none"},
					{"width of the page", `document.documentElement.scrollWidth`, float64(width)},
					{"background", `getComputedStyle(document.body).backgroundColor`, back},
					{"texts of low contrast", lowContrast, ""},
					{"what has no name", nameless, ""},
				} {
					if diff := cmp.Diff(check.want, b.eval(check.expression)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", check.what, diff)
					}
				}
			})
		}
	}
	b.t = t
}

func TestPageIsLive(t *testing.T) {
	b := openBrowser(t)
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	call(t, client, "GET", srv.URL()+"/status/204?first", "")
	b.open(srv.URL()+"/", 800, "light")
	b.eval(`document.getElementById('e1').open = true; document.querySelector('#e1 summary').focus()`)
	add(t, srv, `{"id":"new-stub","match":{"path":"/x"},"respond":{"delay":{"ms":100000}}}`)
	held := dial(t, srv, get("/x"))
	b.until(`document.querySelector('#e2')?.textContent.includes('under way')`)
	held.Close()
	b.until(`document.querySelector('#e2')?.textContent.includes('no answer')`)
	for what, expression := range map[string]string{
		"the stub":          `document.getElementById('stub-list').textContent.includes('new-stub')`,
		"the first as open": `document.getElementById('e1').open`,
		"the focus":         `document.activeElement === document.querySelector('#e1 summary')`,
	} {
		if b.eval(expression) != true {
			t.Errorf("%s has gone", what)
		}
	}
	b.eval(`document.getElementById('clear').click()`)
	b.until(`document.getElementById('entries').textContent.includes('Nothing was received')`)
	if got := srv.Journal().Entries(mockbackend.Filter{}); len(got) != 0 {
		t.Errorf("the journal has %d entries", len(got))
	}
}
