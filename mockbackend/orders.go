package mockbackend

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/touchstone/schemas"
)

// openAPI describes the sample API.
//
//go:embed openapi.json
var openAPI []byte

// OpenAPI gives the OpenAPI 3.1 document of the sample API, as served at
// /openapi.json.
func OpenAPI() []byte { return bytes.Clone(openAPI) }

type order struct {
	ID       int    `json:"id"`
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
	Owner    string `json:"owner"`
	Status   string `json:"status,omitempty"`
	Note     string `json:"note,omitempty"`
}

// maxOrders bounds what clients can make the sample API remember.
const maxOrders = 10_000

// orders is the sample API with its state.
type orders struct {
	mu   sync.Mutex
	byID map[int]order
	next int
}

func newOrders() *orders {
	o := &orders{}
	o.reset()
	return o
}

func (o *orders) reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.byID = map[int]order{
		1: {ID: 1, Item: "mechanical keyboard", Quantity: 2, Owner: "alice"},
		2: {ID: 2, Item: "usb-c cable", Quantity: 10, Owner: "alice", Status: "shipped"},
		3: {ID: 3, Item: "monitor arm", Quantity: 1, Owner: "bob", Status: "open"},
	}
	o.next = 4
}

// answer serves the sample API; nil when the path is not one of its own.
func (o *orders) answer(q *request) (*reply, string) {
	parts := strings.Split(strings.TrimPrefix(q.path, "/"), "/")
	type operations map[string]func() *reply
	var ops operations
	switch {
	case q.path == "/openapi.json":
		ops = operations{"GET": func() *reply { return newReply(http.StatusOK, "application/json", openAPI) }}
	case q.path == "/orders":
		ops = operations{"GET": func() *reply { return o.list(q) }, "POST": func() *reply { return o.create(q) }}
	case q.path == "/orders/search":
		ops = operations{"GET": func() *reply { return o.search(q) }}
	case q.path == "/session":
		ops = operations{"GET": func() *reply { return session(q) }}
	case q.path == "/export":
		ops = operations{"GET": func() *reply { return o.export(q) }}
	case len(parts) == 3 && parts[0] == "tenants" && parts[2] == "report":
		ops = operations{"GET": func() *reply { return o.report(parts[1]) }}
	case parts[0] == "orders" && (len(parts) == 2 || len(parts) == 3 && parts[2] == "attachments"):
		id, err := strconv.Atoi(parts[1])
		if err != nil {
			return problem(http.StatusBadRequest, fmt.Sprintf("The order id %q is not an integer.", parts[1]), nil), "orders"
		}
		if len(parts) == 3 {
			ops = operations{"POST": func() *reply { return o.attach(q, id) }}
			break
		}
		update := func() *reply { return o.update(q, id) }
		ops = operations{
			"GET": func() *reply { return o.get(id) }, "PUT": update, "PATCH": update,
			"DELETE": func() *reply { return o.remove(id) },
		}
	default:
		return nil, ""
	}
	method := q.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if op := ops[method]; op != nil {
		return op(), "orders"
	}
	allowed := strings.Join(slices.Sorted(maps.Keys(ops)), ", ")
	r := problem(http.StatusMethodNotAllowed, fmt.Sprintf("%s is not possible here; possible are %s.", q.Method, allowed), nil)
	return newReply(r.status, "application/problem+json", r.body, schemas.StubHeader{Name: "Allow", Value: allowed}), "orders"
}

func jsonReply(status int, v any, headers ...schemas.StubHeader) *reply {
	return newReply(status, "application/json", mustJSON(v), headers...)
}

func noOrder(id int) *reply {
	return problem(http.StatusNotFound, fmt.Sprintf("There is no order %d.", id), nil)
}

func (o *orders) get(id int) *reply {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.byID[id]
	if !ok {
		return noOrder(id)
	}
	return jsonReply(http.StatusOK, found)
}

// selected gives the orders that keep accepts, by number.
func (o *orders) selected(keep func(order) bool) []order {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := []order{}
	for _, one := range o.byID {
		if keep(one) {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b order) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

func everyOrder(order) bool { return true }

func (o *orders) list(q *request) *reply {
	query := q.queryValues()
	window := map[string]int{"limit": 20, "offset": 0}
	for name := range window {
		if text := query.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return invalidFields(ordered{{name, []string{"must be an integer that is not negative"}}})
			}
			window[name] = n
		}
	}
	fits := func(name, value string) bool { return query.Get(name) == "" || query.Get(name) == value }
	list := o.selected(func(one order) bool {
		return fits("status", one.Status) && fits("filter[owner]", one.Owner) && fits("filter[item]", one.Item) &&
			(query.Get("ids") == "" || slices.Contains(strings.Split(query.Get("ids"), ","), strconv.Itoa(one.ID)))
	})
	from := min(window["offset"], len(list))
	to := min(from+min(window["limit"], len(list)), len(list))
	return jsonReply(http.StatusOK, ordered{{"items", list[from:to]}, {"total", len(list)}})
}

// search finds orders by words of their item; it ignores the other arguments.
func (o *orders) search(q *request) *reply {
	words := strings.Fields(strings.ToLower(q.queryValues().Get("queryText")))
	found := o.selected(func(one order) bool {
		item := strings.ToLower(one.Item)
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(item, word) })
	})
	return jsonReply(http.StatusOK, found)
}

// invalidFields is a 400 with a message for each field.
func invalidFields(fields ordered) *reply {
	return newReply(http.StatusBadRequest, "application/problem+json", mustJSON(ordered{
		{"title", "One or more fields are invalid."}, {"status", http.StatusBadRequest}, {"errors", fields},
	}))
}

// orderInput is what a client may set; nil is left alone.
type orderInput struct {
	Item     *string `json:"item"`
	Quantity *int    `json:"quantity"`
	Status   *string `json:"status"`
	Note     *string `json:"note"`
}

func readOrder(q *request, complete bool) (orderInput, *reply) {
	var in orderInput
	if err := json.Unmarshal(q.body, &in); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			return in, invalidFields(ordered{{wrong.Field, []string{"must not be a " + wrong.Value}}})
		}
		return in, problem(http.StatusBadRequest, "The body is not a JSON object.", nil)
	}
	var wrong ordered
	if in.Item == nil && complete || in.Item != nil && strings.TrimSpace(*in.Item) == "" {
		wrong = append(wrong, ordered{{"item", []string{"The field item is required."}}}...)
	}
	switch {
	case in.Quantity == nil && complete:
		wrong = append(wrong, ordered{{"quantity", []string{"The field quantity is required."}}}...)
	case in.Quantity != nil && (*in.Quantity < 1 || *in.Quantity > 100):
		wrong = append(wrong, ordered{{"quantity", []string{"The field quantity must be between 1 and 100."}}}...)
	}
	if wrong != nil {
		return in, invalidFields(wrong)
	}
	return in, nil
}

func (in orderInput) apply(to *order) {
	if in.Item != nil {
		to.Item = *in.Item
	}
	if in.Quantity != nil {
		to.Quantity = *in.Quantity
	}
	if in.Status != nil {
		to.Status = *in.Status
	}
	if in.Note != nil {
		to.Note = *in.Note
	}
}

func (o *orders) create(q *request) *reply {
	in, refusal := readOrder(q, true)
	if refusal != nil {
		return refusal
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.byID) >= maxOrders {
		return problem(http.StatusInsufficientStorage, fmt.Sprintf("The sample API keeps %d orders; delete some, or reset the mock.", maxOrders), nil)
	}
	made := order{ID: o.next, Owner: "alice", Status: "open"}
	o.next++
	in.apply(&made)
	o.byID[made.ID] = made
	return jsonReply(http.StatusCreated, made, schemas.StubHeader{Name: "Location", Value: fmt.Sprintf("%s/orders/%d", q.base, made.ID)})
}

func (o *orders) update(q *request, id int) *reply {
	in, refusal := readOrder(q, q.Method == http.MethodPut)
	if refusal != nil {
		return refusal
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	changed, ok := o.byID[id]
	if !ok {
		return noOrder(id)
	}
	in.apply(&changed)
	o.byID[id] = changed
	return jsonReply(http.StatusOK, changed)
}

func (o *orders) remove(id int) *reply {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.byID[id]; !ok {
		return noOrder(id)
	}
	delete(o.byID, id)
	return newReply(http.StatusNoContent, "", nil)
}

func (o *orders) attach(q *request, id int) *reply {
	if r := o.get(id); r.status != http.StatusOK {
		return r
	}
	mediaType, params, _ := mime.ParseMediaType(q.Header.Get("Content-Type"))
	if mediaType != "multipart/form-data" {
		return problem(http.StatusUnsupportedMediaType, "Attachments come as multipart/form-data.", nil)
	}
	files, fields := []ordered{}, map[string]string{}
	form := multipart.NewReader(bytes.NewReader(q.body), params["boundary"])
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			break
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(part)
		}
		switch {
		case err != nil:
			return problem(http.StatusBadRequest, "The multipart body cannot be read.", nil)
		case part.FileName() == "":
			fields[part.FormName()] = string(data)
		default:
			files = append(files, ordered{
				{"field", part.FormName()}, {"filename", part.FileName()},
				{"contentType", part.Header.Get("Content-Type")}, {"bytes", len(data)},
			})
		}
	}
	return jsonReply(http.StatusCreated, ordered{{"orderId", id}, {"files", files}, {"fields", fields}})
}

func session(q *request) *reply {
	cookie, err := q.Cookie("sid")
	if err != nil || cookie.Value == "" {
		return problem(http.StatusUnauthorized, "There is no session: the cookie sid is missing.", nil)
	}
	return jsonReply(http.StatusOK, ordered{{"sid", cookie.Value}, {"user", "alice"}})
}

func (o *orders) report(tenant string) *reply {
	list := o.selected(everyOrder)
	quantity := 0
	for _, one := range list {
		quantity += one.Quantity
	}
	return jsonReply(http.StatusOK, ordered{{"tenantId", tenant}, {"orders", len(list)}, {"quantity", quantity}})
}

func (o *orders) export(q *request) *reply {
	list := o.selected(everyOrder)
	switch format := q.queryValues().Get("format"); format {
	case "json":
		return jsonReply(http.StatusOK, list)
	case "", "csv":
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		rows := [][]string{{"id", "item", "quantity", "owner"}}
		for _, one := range list {
			rows = append(rows, []string{strconv.Itoa(one.ID), one.Item, strconv.Itoa(one.Quantity), one.Owner})
		}
		if err := w.WriteAll(rows); err != nil {
			panic("mockbackend: writing to memory: " + err.Error())
		}
		return newReply(http.StatusOK, "text/csv; charset=utf-8", b.Bytes())
	default:
		return invalidFields(ordered{{"format", []string{fmt.Sprintf("must be csv or json, not %s", format)}}})
	}
}
