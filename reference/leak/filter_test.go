package leak_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/reference/leak"
)

// baits trip exactly one class each; without is the one rule that, taken out of
// the filter, lets the bait pass.
var baits = []struct {
	name, class, text string
	without           func(*leak.Filter)
}{
	{"named frame", "LEAK-01", "failed at Shop.Cart.Add(Item item)", func(f *leak.Filter) { f.NamedFrames = false }},
	{"named frame, first", "LEAK-01", "at add(x)", func(f *leak.Filter) { f.NamedFrames = false }},
	{"named frame, blank before parenthesis", "LEAK-01", "at add (x)", func(f *leak.Filter) { f.NamedFrames = false }},
	{"named frame, dots before parenthesis", "LEAK-01", "at add . . (x)", func(f *leak.Filter) { f.NamedFrames = false }},
	{"named frame after another word at", "LEAK-01", "at at add(x)", func(f *leak.Filter) { f.NamedFrames = false }},
	{"generic name", "LEAK-01", "at List<int>(x)", mark("<")},
	{"generic name, end", "LEAK-01", "at List<int>(x)", mark(">")},
	{"dollar name", "LEAK-01", "at $add(x)", mark("$")},
	{"underscore name", "LEAK-01", "at my_add(x)", mark("_")},
	{"dotted name", "LEAK-01", "at cart.add(x)", mark(".")},
	{"position frame", "LEAK-01", "at worker:12:7", func(f *leak.Filter) { f.PositionFrames = false }},
	{"position frame inside text", "LEAK-01", "it broke at worker:12:7 while saving", func(f *leak.Filter) { f.PositionFrames = false }},
	{"position frame, parenthesis", "LEAK-01", "at (worker:12:7)", tail(")")},
	{"position frame, full stop", "LEAK-01", "at worker:12:7.", tail(".")},
	{"position frame, comma", "LEAK-01", "at worker:12:7, then", tail(",")},
	{"traceback", "LEAK-01", "Traceback (most recent call last): none", func(f *leak.Filter) { f.TracebackHeader = "" }},

	{"exception", "LEAK-02", "NullReferenceException: no order", func(f *leak.Filter) { f.ExceptionSuffix = "" }},
	{"exception after a dot", "LEAK-02", "java.io.IOException", func(f *leak.Filter) { f.ExceptionSuffix = "" }},
	{"exception after an underscore", "LEAK-02", "_Exception", func(f *leak.Filter) { f.ExceptionSuffix = "" }},
	{"TypeError", "LEAK-02", "TypeError: x is undefined", errorType("TypeError")},
	{"ReferenceError", "LEAK-02", "a ReferenceError was thrown", errorType("ReferenceError")},
	{"SyntaxError", "LEAK-02", "(SyntaxError)", errorType("SyntaxError")},
	{"RangeError", "LEAK-02", "RangeError", errorType("RangeError")},
	{"EvalError", "LEAK-02", "x.EvalError", errorType("EvalError")},
	{"URIError", "LEAK-02", "URIError: malformed", errorType("URIError")},

	{"drive", "LEAK-03", `cannot read C:\orders`, func(f *leak.Filter) { f.DrivePaths = false }},
	{"drive, lower case", "LEAK-03", `(d:\x)`, func(f *leak.Filter) { f.DrivePaths = false }},
	{"share", "LEAK-03", `cannot read \\files\orders`, func(f *leak.Filter) { f.UNCPaths = false }},
	{"share behind a backslash", "LEAK-03", `\\\files.local\orders$`, func(f *leak.Filter) { f.UNCPaths = false }},
	{"share after a word", "LEAK-03", `x\\files\orders`, func(f *leak.Filter) { f.UNCPaths = false }},
	{"/Users", "LEAK-03", "cannot read /Users/ann", root("/Users")},
	{"/home", "LEAK-03", "/home/ann is full", root("/home")},
	{"/var", "LEAK-03", "in '/var/log'", root("/var")},
	{"/usr", "LEAK-03", "(/usr/bin)", root("/usr")},
	{"/opt", "LEAK-03", "path=/opt/shop", root("/opt")},
	{"/srv", "LEAK-03", "/srv/shop", root("/srv")},
	{"/app", "LEAK-03", "no file /app/orders", root("/app")},
	{"/src", "LEAK-03", "no file /src/orders", root("/src")},
	{"/etc", "LEAK-03", "no file /etc/shop", root("/etc")},
	{"/tmp", "LEAK-03", "no file /tmp/shop", root("/tmp")},
	{"cs", "LEAK-03", "Order.cs:7", extension("cs")},
	{"ts", "LEAK-03", "order.ts:7", extension("ts")},
	{"tsx", "LEAK-03", "order.tsx:7", extension("tsx")},
	{"js", "LEAK-03", "order.js:7", extension("js")},
	{"jsx", "LEAK-03", "order.jsx:7", extension("jsx")},
	{"py", "LEAK-03", "order.py:7", extension("py")},
	{"java", "LEAK-03", "Order.java:7", extension("java")},
	{"rb", "LEAK-03", "order.rb:7", extension("rb")},
	{"go", "LEAK-03", "order.go:7", extension("go")},
	{"php", "LEAK-03", "order.php:7", extension("php")},
	{"cpp", "LEAK-03", "order.cpp:7", extension("cpp")},
	{"c", "LEAK-03", "order.c:7", extension("c")},
	{"h", "LEAK-03", "order.h:7", extension("h")},
	{"kt", "LEAK-03", "order.kt:7", extension("kt")},
	{"swift", "LEAK-03", "order.swift:7", extension("swift")},
	{"extension in capitals", "LEAK-03", "ORDER.JS:7", func(f *leak.Filter) { f.SourceExtensions.AnyCase = false }},
	{"line", "LEAK-03", "Order.cs:line 7", func(f *leak.Filter) { f.LineWord = "" }},

	{"Server", "LEAK-04", "Server=db1;", key("Server")},
	{"Data Source", "LEAK-04", "with Data Source=db1;", key("Data Source")},
	{"Password", "LEAK-04", "(Password = x ;)", key("Password")},
	{"User Id", "LEAK-04", "User Id=ann;", key("User Id")},
	{"Uid", "LEAK-04", "a;Uid= ann;", key("Uid")},
	{"Pwd", "LEAK-04", "Pwd=x, and more; or so", key("Pwd")},
	{"Initial Catalog", "LEAK-04", "Initial Catalog=shop;", key("Initial Catalog")},
	{"key in lower case", "LEAK-04", "server=db1;", func(f *leak.Filter) { f.ConnectionKeys.AnyCase = false }},
	{"second key", "LEAK-04", "Server= ; Uid=ann;", key("Uid")},
	{"mongodb", "LEAK-04", "mongodb://db1", scheme("mongodb")},
	{"mongodb+srv", "LEAK-04", "mongodb+srv://db1", scheme("mongodb+srv")},
	{"postgres", "LEAK-04", "to postgres://db1 now", scheme("postgres")},
	{"postgresql", "LEAK-04", "(postgresql://db1)", scheme("postgresql")},
	{"mysql", "LEAK-04", "mysql://db1", scheme("mysql")},
	{"redis", "LEAK-04", "redis://db1", scheme("redis")},
	{"amqp", "LEAK-04", "amqp://mq1", scheme("amqp")},
	{"mssql", "LEAK-04", "mssql://db1", scheme("mssql")},
	{"scheme in capitals", "LEAK-04", "REDIS://db1", func(f *leak.Filter) { f.URLSchemes.AnyCase = false }},
	{"user and password", "LEAK-04", "see https://ann:x@example.com", func(f *leak.Filter) { f.UserInfoURLs = false }},
	{"password alone", "LEAK-04", "ftp://:x:y@example.com/a", func(f *leak.Filter) { f.UserInfoURLs = false }},

	{"bearer", "LEAK-05", "Bearer abcd1234", func(f *leak.Filter) { f.AuthSchemes.List = nil }},
	{"bearer, any character", "LEAK-05", "sent 'Bearer -._~+/==' along", func(f *leak.Filter) { f.AuthSchemes.List = nil }},
	{"bearer in capitals", "LEAK-05", "BEARER abcd1234", func(f *leak.Filter) { f.AuthSchemes.AnyCase = false }},
	{"bearer at the minimum", "LEAK-05", "bearer abcd1234", func(f *leak.Filter) { f.MinTokenLength = 9 }},
	{"JWT", "LEAK-05", "token eyJhbGci.eyJzdWIi.c2ln", func(f *leak.Filter) { f.JWTs = false }},
	{"JWT with base64url characters", "LEAK-05", "=eyJ-_.-._", func(f *leak.Filter) { f.JWTs = false }},
	{"JWT behind a dash", "LEAK-05", "xeyJa-eyJa.b.c", func(f *leak.Filter) { f.JWTs = false }},
	{"JWT behind a broken one", "LEAK-05", "eyJa.b eyJa.b.c", func(f *leak.Filter) { f.JWTs = false }},

	{"one unit too long", "LEAK-06", strings.Repeat("x", 1001), func(f *leak.Filter) { f.MaxUnits = 1001 }},
	{"one half of a pair too long", "LEAK-06", strings.Repeat("\U0001F600", 500) + "x", func(f *leak.Filter) { f.MaxUnits = 0 }},
}

func mark(c string) func(*leak.Filter) {
	return func(f *leak.Filter) { f.NameMarks = strings.Replace(f.NameMarks, c, "", 1) }
}

func tail(c string) func(*leak.Filter) {
	return func(f *leak.Filter) { f.PositionTail = strings.Replace(f.PositionTail, c, "", 1) }
}

func errorType(word string) func(*leak.Filter) {
	return func(f *leak.Filter) { f.ErrorTypes = without(f.ErrorTypes, word) }
}

func root(word string) func(*leak.Filter) {
	return func(f *leak.Filter) { f.UnixRoots = without(f.UnixRoots, word) }
}

func extension(word string) func(*leak.Filter) {
	return func(f *leak.Filter) { f.SourceExtensions.List = without(f.SourceExtensions.List, word) }
}

func key(word string) func(*leak.Filter) {
	return func(f *leak.Filter) { f.ConnectionKeys.List = without(f.ConnectionKeys.List, word) }
}

func scheme(word string) func(*leak.Filter) {
	return func(f *leak.Filter) { f.URLSchemes.List = without(f.URLSchemes.List, word) }
}

func without(list []string, word string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == word })
}

func TestEveryAlternative(t *testing.T) {
	for _, bait := range baits {
		t.Run(bait.name, func(t *testing.T) {
			f := leak.Default()
			if diff := cmp.Diff([]string{bait.class}, f.Classes(bait.text)); diff != "" {
				t.Errorf("classes of %q (-want +got):\n%s", bait.text, diff)
			}
			if id, hit := f.Class(bait.text); id != bait.class || !hit {
				t.Errorf("Class(%q) = %q, %v", bait.text, id, hit)
			}
			if !f.Withholds(bait.text) {
				t.Errorf("%q passes", bait.text)
			}
			if bait.without(&f); f.Withholds(bait.text) {
				t.Errorf("%q is withheld without its rule too", bait.text)
			}
		})
	}
}

func TestBenignTextPasses(t *testing.T) {
	for _, text := range []string{
		"",
		"Error: quantity must be positive",
		"The error was logged.",
		"exception handling is turned off",
		"Exception", "Exceptions were found", "NullReferenceExceptions",
		"MyTypeError", "TypeErrors", "typeerror", "Error",
		"Look at the order list", "at once", "at", "at ", "at (", "what about add(x)",
		"format(x) at home", "At add(x)", "cat add(x)", "at add x(y)",
		"Meet at 12:30", "at worker:12:", "at worker:12", "at worker:x:7", "at :12:7", "at a:1:2:b",
		"Traceback (most recent first)",
		"Order /orders/5 is locked", "see https://example.com/app/orders", "a/src/b", "x./app/y", "-/app/y",
		"/app", "/app/ is full", "/application/x", "/App/x", "and /or",
		`C:`, `C:\`, `C:\ `, `AB:\x`, `C:/x`, `1:\x`,
		`\\files`, `\\files\`, `\\files\ x`, `\\\\`, `\d+\w`, `\\ x\y`,
		"Order.cs", "Order.cs:", "Order.cs: 7", "cs:7", ".cs:7", "/.cs:7", "Order.txt:7", "Order.css:7", "note: 7", "Order.cs:lines 7",
		"Server maintenance; try later", "Server=", "Server=db1", "Server= ;", "Server=;", "MyServer=db1;", "DataSource=db1;", "Password: x;",
		"password is too short", "; Server=db1",
		"redis://", "redis:// is down", "rediss://db1", "myredis://db1", "redis:/db1",
		"https://example.com/a:b@c", "https://ann@example.com", "https://example.com:8080/x@y", "https://example.com?x:y@z",
		"https://ann:@example.com", "://ann:x@example.com", "see ://ann:x@example.com", "ann:x@example.com", "https://a:b c@d", "https://",
		"Bearer abc1234", "Bearer", "Bearer ", "bearers abcd1234", "myBearer abcd1234", "Bearer abc 1234567", "Bearerabcd1234",
		"eyJhbGci.eyJzdWIi", "eyJ.a.b", "eyJa..b", "eyJa.b.", "keyJob.name.value", "eyja.b.c", "KeyJeyJa.b.c",
		strings.Repeat("x", 1000), strings.Repeat("\U0001F600", 500),
		"Größe ungültig", "数量必须大于零", "\xff\xfe",
	} {
		f := leak.Default()
		if ids := f.Classes(text); ids != nil {
			t.Errorf("%.60q is withheld: %v", text, ids)
		}
		if id, hit := f.Class(text); id != "" || hit {
			t.Errorf("Class(%.60q) = %q, %v", text, id, hit)
		}
	}
}

func TestClassesAreOrderedAndComplete(t *testing.T) {
	text := "IOException at save(x) in /app/x with Pwd=a; and Bearer abcd1234" + strings.Repeat("!", 1000)
	f := leak.Default()
	want := []string{"LEAK-01", "LEAK-02", "LEAK-03", "LEAK-04", "LEAK-05", "LEAK-06"}
	if diff := cmp.Diff(want, f.Classes(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestZeroFilterWithholdsNothing(t *testing.T) {
	var f leak.Filter
	for _, bait := range baits {
		if f.Withholds(bait.text) {
			t.Errorf("%.60q is withheld", bait.text)
		}
	}
}

func TestDefaultIsFresh(t *testing.T) {
	f := leak.Default()
	for _, list := range [][]string{f.ErrorTypes, f.UnixRoots, f.SourceExtensions.List, f.ConnectionKeys.List, f.URLSchemes.List, f.AuthSchemes.List} {
		clear(list)
	}
	g := leak.Default()
	for _, bait := range baits {
		if !g.Withholds(bait.text) {
			t.Errorf("%.60q passes after another filter was edited", bait.text)
		}
	}
}
