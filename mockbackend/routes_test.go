package mockbackend_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
)

func TestStatusRoute(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	for status := 200; status < 600; status++ {
		if got := call(t, client, "GET", fmt.Sprintf("%s/status/%d", srv.URL(), status), ""); got.status != status {
			t.Errorf("/status/%d answers %d", status, got.status)
		}
	}
	for _, tt := range []struct{ path, contentType, body string }{
		{"/status/404", "application/problem+json", `{"type":"about:blank","title":"Not Found","status":404,"detail":"The mock backend was asked for this status."}`},
		{"/status/400?body=fields", "application/problem+json", `{"title":"Bad Request","status":400,"errors":{"quantity":["The field quantity must be between 1 and 100."],"item":["The field item is required."]}}`},
		{"/status/422?body=nest", "application/json", `{"statusCode":422,"message":["quantity must not be less than 1","item should not be empty"],"error":"Unprocessable Entity"}`},
		{"/status/409?body=envelope", "application/json", `{"message":"The mock backend was asked for this status."}`},
		{"/status/500?body=plain", "text/plain; charset=utf-8", "The mock backend was asked for this status."},
		{"/status/502?body=html", "text/html; charset=utf-8", "<!doctype html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"},
		{"/status/599?body=empty", "", ""},
	} {
		got := call(t, client, "GET", srv.URL()+tt.path, "")
		if got.header.Get("Content-Type") != tt.contentType || got.body != tt.body {
			t.Errorf("%s: %s %s", tt.path, got.header.Get("Content-Type"), got.body)
		}
	}
	for status := 100; status < 200; status++ {
		if status == http.StatusSwitchingProtocols {
			continue
		}
		conn := bufio.NewReader(dial(t, srv, get(fmt.Sprintf("/status/%d", status))))
		if line := readHead(t, conn); !strings.HasPrefix(line, fmt.Sprintf("HTTP/1.1 %d ", status)) {
			t.Errorf("/status/%d begins with %q", status, line)
		}
		if line := readHead(t, conn); !strings.HasPrefix(line, "HTTP/1.1 200 OK\r\n") {
			t.Errorf("/status/%d goes on with %q", status, line)
		}
	}
	if got := rawGet(t, srv, "/status/204?body=plain"); !strings.HasSuffix(got, "\r\n\r\nThe mock backend was asked for this status.") {
		t.Errorf("a body after 204 was asked for: %q", got)
	}
}

func TestLeakRoute(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	for slug, says := range map[string]string{
		"stack-frame": "at Shop.Orders.OrderStore.Load(", "exception-type": "NullReferenceException", "file-path": "/var/lib/",
		"connection-string": "Server=sql-7.shop.internal;", "credential": "Bearer 7c1f", "multi-line": "\tat ", "LEAK-05": "Bearer 7c1f", "leak-06": "The stock",
		"too-long": "The stock",
	} {
		got := call(t, client, "GET", srv.URL()+"/leak/"+slug, "")
		var doc struct{ Detail string }
		if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
			t.Fatal(err)
		}
		if got.status != 400 || !strings.Contains(doc.Detail, says) || (len(doc.Detail) > 1000) != (says == "The stock") {
			t.Errorf("%s: %d %s", slug, got.status, doc.Detail)
		}
	}
}

func TestRoutesRefuse(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	for _, tt := range []struct {
		path   string
		status int
		says   string
	}{
		{"/leak/x", 404, "known are stack-frame, exception-type"},
		{"/fault/x", 404, "known are close-before-headers, compressed-bomb"},
		{"/fault/drip?speed=1", 400, "known are afterBytes"},
		{"/fault/drip?afterBytes=1", 400, "takes kind, bytes, intervalMs"},
		{"/fault/drip?bytes=x", 400, "not a number"},
		{"/status/x", 400, "from 100 to 999"},
		{"/status/99", 400, "from 100 to 999"},
		{"/status/101", 400, "not 101, which ends HTTP"},
		{"/status/400?body=x", 400, "known are empty, envelope"},
		{"/delay/x", 400, "from 0 to 3600000"},
		{"/delay/3600001", 400, "from 0 to 3600000"},
		{"/bytes/-1", 400, "from 0 to 67108864"},
		{"/bytes/67108865", 400, "from 0 to 67108864"},
		{"/nowhere", 404, "No stub and no route answers GET /nowhere."},
	} {
		got := call(t, client, "GET", srv.URL()+tt.path, "")
		if got.status != tt.status || got.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s: %d %s", tt.path, got.status, got.body)
		}
	}
}

func TestDelayAndBytesRoutes(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	begin := time.Now()
	if got := call(t, client, "GET", srv.URL()+"/delay/20", ""); got.body != `{"delayMs":20}` || time.Since(begin) < 20*time.Millisecond {
		t.Errorf("got %s after %v", got.body, time.Since(begin))
	}
	if got := call(t, client, "GET", srv.URL()+"/bytes/258", ""); len(got.body) != 258 || got.body[255:] != "\xff\x00\x01" {
		t.Errorf("got %q", got.body)
	}
}

// Every known kind is a route, and none of them hangs once the client leaves.
func TestFaultRoutes(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	kinds := mockbackend.FaultKinds()
	if len(kinds) != 23 {
		t.Errorf("%d kinds", len(kinds))
	}
	for kind := range kinds {
		if strings.HasPrefix(kind, "http2-") {
			continue // refused on this connection
		}
		conn := dial(t, srv, get("/fault/"+kind))
		wait(t, srv, mockbackend.Filter{Path: "/fault/" + kind}, 1)
		conn.Close()
		if e := wait(t, srv, mockbackend.Filter{Path: "/fault/" + kind, Done: true}, 1)[0]; e.Sent.Fault != kind || e.Route != "fault" {
			t.Errorf("%s: the journal says %+v", kind, e.Sent)
		}
	}
}

func TestStubsWinOverRoutes(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	for _, path := range []string{"/status/200", "/orders/1", "/openapi.json"} {
		id := add(t, srv, `{"match":{"path":"`+path+`"},"respond":{"text":"mine"}}`)
		if got := call(t, client, "GET", srv.URL()+path, ""); got.body != "mine" {
			t.Errorf("%s: %s", path, got.body)
		}
		srv.Remove(id)
		if got := call(t, client, "GET", srv.URL()+path, ""); got.body == "mine" {
			t.Errorf("%s: the removed stub answers", path)
		}
	}
}

func TestOrders(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	const jsonType = "application/json"
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
		headers            []string
	}{
		{"GET", "/orders/1", "", 200, `{"id":1,"item":"mechanical keyboard","quantity":2,"owner":"alice"}`, nil},
		{"HEAD", "/orders/1", "", 200, ``, nil},
		{"GET", "/orders/99", "", 404, `{"detail":"There is no order 99.","status":404,"title":"Not Found","type":"about:blank"}`, nil},
		{"GET", "/orders/x", "", 400, `{"detail":"The order id \"x\" is not an integer.","status":400,"title":"Bad Request","type":"about:blank"}`, nil},
		{"POST", "/orders", `{"item":"desk","quantity":3,"note":"soon"}`, 201, `{"id":4,"item":"desk","quantity":3,"owner":"alice","status":"open","note":"soon"}`, nil},
		{"GET", "/orders/4", "", 200, `{"id":4,"item":"desk","quantity":3,"owner":"alice","status":"open","note":"soon"}`, nil},
		{"PATCH", "/orders/4", `{"status":"shipped"}`, 200, `{"id":4,"item":"desk","quantity":3,"owner":"alice","status":"shipped","note":"soon"}`, nil},
		{"PUT", "/orders/4", `{"item":"lamp"}`, 400, `{"title":"One or more fields are invalid.","status":400,"errors":{"quantity":["The field quantity is required."]}}`, nil},
		{"PUT", "/orders/4", `{"item":"lamp","quantity":1}`, 200, `{"id":4,"item":"lamp","quantity":1,"owner":"alice","status":"shipped","note":"soon"}`, nil},
		{"PATCH", "/orders/99", `{}`, 404, `{"detail":"There is no order 99.","status":404,"title":"Not Found","type":"about:blank"}`, nil},
		{"GET", "/orders?limit=1&offset=3", "", 200, `{"items":[{"id":4,"item":"lamp","quantity":1,"owner":"alice","status":"shipped","note":"soon"}],"total":4}`, nil},
		{"GET", "/orders?status=open", "", 200, `{"items":[{"id":3,"item":"monitor arm","quantity":1,"owner":"bob","status":"open"}],"total":1}`, nil},
		{"GET", "/orders?filter[owner]=bob&ids=1,3", "", 200, `{"items":[{"id":3,"item":"monitor arm","quantity":1,"owner":"bob","status":"open"}],"total":1}`, nil},
		{"GET", "/orders?offset=9", "", 200, `{"items":[],"total":4}`, nil},
		{"GET", "/orders?limit=x", "", 400, `{"title":"One or more fields are invalid.","status":400,"errors":{"limit":["must be an integer that is not negative"]}}`, nil},
		{"POST", "/orders", `{"quantity":101}`, 400, `{"title":"One or more fields are invalid.","status":400,"errors":{"item":["The field item is required."],"quantity":["The field quantity must be between 1 and 100."]}}`, nil},
		{"POST", "/orders", `{"item":"a","quantity":"2"}`, 400, `{"title":"One or more fields are invalid.","status":400,"errors":{"quantity":["must not be a string"]}}`, nil},
		{"POST", "/orders", `[`, 400, `{"detail":"The body is not a JSON object.","status":400,"title":"Bad Request","type":"about:blank"}`, nil},
		{"DELETE", "/orders/4", "", 204, "", nil},
		{"DELETE", "/orders/4", "", 404, `{"detail":"There is no order 4.","status":404,"title":"Not Found","type":"about:blank"}`, nil},
		{"DELETE", "/orders", "", 405, `{"detail":"DELETE is not possible here; possible are GET, POST.","status":405,"title":"Method Not Allowed","type":"about:blank"}`, nil},
		{"GET", "/session", "", 401, `{"detail":"There is no session: the cookie sid is missing.","status":401,"title":"Unauthorized","type":"about:blank"}`, nil},
		{"GET", "/session", "", 200, `{"sid":"s1","user":"alice"}`, []string{"Cookie", "sid=s1"}},
		{"GET", "/tenants/acme/report", "", 200, `{"tenantId":"acme","orders":3,"quantity":13}`, nil},
		{"GET", "/export", "", 200, "id,item,quantity,owner\n1,mechanical keyboard,2,alice\n2,usb-c cable,10,alice\n3,monitor arm,1,bob\n", nil},
		{"GET", "/export?format=xml", "", 400, `{"title":"One or more fields are invalid.","status":400,"errors":{"format":["must be csv or json, not xml"]}}`, nil},
		{"POST", "/orders/1/attachments", "x", 415, `{"detail":"Attachments come as multipart/form-data.","status":415,"title":"Unsupported Media Type","type":"about:blank"}`, nil},
	} {
		got := call(t, client, tt.method, srv.URL()+tt.path, tt.body, append(tt.headers, "Content-Type", jsonType)...)
		if got.status != tt.status {
			t.Errorf("%s %s: status %d, want %d", tt.method, tt.path, got.status, tt.status)
		}
		if diff := cmp.Diff(tt.want, got.body); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.method, tt.path, diff)
		}
	}
	srv.Reset()
	call(t, client, "DELETE", srv.URL()+"/orders/1", "")
	srv.Reset()
	if got := call(t, client, "GET", srv.URL()+"/orders/1", ""); got.status != 200 {
		t.Errorf("order 1 after a reset: %d", got.status)
	}
}

func TestAttachFile(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "a.txt")
	if err == nil {
		_, err = io.WriteString(part, "hello")
	}
	if err == nil {
		err = form.WriteField("caption", "Hi")
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	got := call(t, newClient(t), "POST", srv.URL()+"/orders/1/attachments", body.String(), "Content-Type", form.FormDataContentType())
	want := `{"orderId":1,"files":[{"field":"file","filename":"a.txt","contentType":"application/octet-stream","bytes":5}],"fields":{"caption":"Hi"}}`
	if got.status != http.StatusCreated || got.body != want {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestOpenAPI(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	got := call(t, newClient(t), "GET", srv.URL()+"/openapi.json", "")
	doc, err := openapi3.NewLoader().LoadFromData([]byte(got.body))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	// What a tool layer says of an argument without a description is a case of
	// the suite.
	undescribed := []string{"max_results", "sortFields"}
	var ids []string
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			ids = append(ids, op.OperationID)
			for _, p := range op.Parameters {
				if p.Value.Description == "" && !slices.Contains(undescribed, p.Value.Name) {
					t.Errorf("%s: %s has no description", op.OperationID, p.Value.Name)
				}
			}
			// The sample serves what it describes.
			srv.Reset()
			uri := srv.URL() + strings.NewReplacer("{id}", "1", "{tenantId}", "acme").Replace(path)
			if got := call(t, newClient(t), method, uri, "", "Cookie", "sid=1"); got.status == 404 || got.status == 405 {
				t.Errorf("%s %s answers %d", method, path, got.status)
			}
		}
	}
	slices.Sort(ids)
	want := []string{"attach_file", "create_order", "delete_order", "export_orders", "get_order", "get_session", "list_orders", "search_orders", "tenant_report", "update_order"}
	if diff := cmp.Diff(want, ids); diff != "" || doc.OpenAPI != "3.1.0" {
		t.Errorf("OpenAPI %s, operations (-want +got):\n%s", doc.OpenAPI, diff)
	}
}
