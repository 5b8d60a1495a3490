package arm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxBody bounds request bodies. ARM's own limit is 4 MB (documentation "Azure Resource Manager quotas and limits").
const maxBody = 4 << 20

// apiError is a refusal as ARM prints it: {"error":{"code","message","target","details"}} (documentation "Microsoft
// REST API Guidelines", error condition responses).
type apiError struct {
	Status     int           `json:"-"`
	RetryAfter time.Duration `json:"-"`
	Code       string        `json:"code"`
	Message    string        `json:"message"`
	Target     string        `json:"target,omitempty"`
	Details    []apiError    `json:"details,omitempty"`
	header     map[string]string
	denied     string // the action that the caller lacks; "" = another reason
	body       []byte // when set, the whole body: services that are not ARM have other envelopes
}

func (e *apiError) Error() string { return e.Code + ": " + e.Message }

func refuse(status int, code, format string, args ...any) *apiError {
	return &apiError{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// with is the refusal with headers; nil stays nil.
func (e *apiError) with(header map[string]string) *apiError {
	if e == nil {
		return nil
	}
	out := *e // one refusal may answer several requests
	out.header = header
	return &out
}

// call is one request with its path already taken apart.
type call struct {
	*http.Request
	base   string
	query  url.Values
	vars   map[string]string // captured path segments, in the caller's case
	raw    []byte
	body   map[string]any    // nil when there was none
	format string            // resource type of the route, for errors
	limits map[string]string // headers that tell what is left of the caller's budgets
}

// reply is what a handler answers; body is marshalled before the lock is released.
type reply struct {
	status int
	header map[string]string
	body   any // nil = no body; []byte is sent as it is
}

type handler func(c *Cloud, q *call) (*reply, *apiError)

func ok(body any) (*reply, *apiError) { return &reply{status: http.StatusOK, body: body}, nil }

// ServeHTTP answers every path of this Azure: ARM, tokens, prices and the lab's own /lab/….
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/lab/") {
		c.serveAdmin(w, r)
		return
	}
	start := c.cfg.Now()
	k := c.Knobs()
	if win, down := k.down(start); down {
		if win.Drop {
			panic(http.ErrAbortHandler) // net/http closes the connection without an answer
		}
		c.finish(w, r, start, nil, &apiError{Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable",
			Message: "The service is temporarily unavailable.", RetryAfter: win.RetryAfter.D()})
		return
	}
	if !c.wait(r, k.Latency.D()) {
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		c.finish(w, r, start, nil, refuse(http.StatusRequestEntityTooLarge, "RequestContentTooLarge", "The request content size exceeds the maximum size of 4 MB."))
		return
	}
	rep, e := c.answer(r, raw)
	c.finish(w, r, start, rep, e)
}

// wait delays a request; false means that the client went away.
func (c *Cloud) wait(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	done := make(chan struct{})
	stop := c.cfg.After(d, func() { close(done) })
	select {
	case <-done:
		return true
	case <-r.Context().Done():
		stop()
		return false
	}
}

// answer finds the route and runs its handler under the lock.
func (c *Cloud) answer(r *http.Request, raw []byte) (*reply, *apiError) {
	q := &call{Request: r, base: c.base(r.Host), query: r.URL.Query(), raw: raw, limits: map[string]string{}}
	rt, vars, e := c.find(r)
	if e != nil && !c.public(r) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if bad := c.authorize(r); bad != nil {
			return nil, bad
		}
	}
	if e != nil {
		return nil, e
	}
	q.vars, q.format = vars, rt.kind
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "The lab is shutting down.")
	}
	if !rt.public {
		if e := c.admit(q, rt); e != nil {
			return nil, e.with(q.limits)
		}
	}
	rep, e := rt.do(c, q)
	if e != nil || rep == nil {
		return rep, e.with(q.limits)
	}
	if rep.header == nil {
		rep.header = map[string]string{}
	}
	maps.Copy(rep.header, q.limits)
	if _, done := rep.body.([]byte); !done && rep.body != nil {
		b, err := json.Marshal(rep.body)
		if err != nil {
			return nil, refuse(http.StatusInternalServerError, "InternalServerError", "%v", err)
		}
		rep.body = b
	}
	return rep, nil
}

// admit does what ARM does before a request reaches a resource provider: authentication, api-version, subscription,
// throttling, authorization, resource group, JSON and schema. The caller holds mu.
func (c *Cloud) admit(q *call, rt *route) *apiError {
	if e := c.authorize(q.Request); e != nil {
		return e
	}
	if e := c.checkVersion(q, rt); e != nil {
		return e
	}
	if s, has := q.vars["sub"]; has && !strings.EqualFold(s, c.cfg.Subscription) {
		return refuse(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", s)
	}
	if e := c.throttle(rt.bucket); e != nil {
		return e
	}
	if e := c.spend(q, rt); e != nil {
		return e
	}
	if e := c.checkRights(q, rt); e != nil {
		return e
	}
	if g, has := q.vars["rg"]; has && !c.hasGroup(g) {
		return refuse(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found.", g)
	}
	if len(bytes.TrimSpace(q.raw)) == 0 {
		if q.Method == http.MethodPut || q.Method == http.MethodPatch {
			return refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid: the request body is empty.")
		}
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(q.raw))
	dec.UseNumber() // numbers come back exactly as they were sent
	wrong := ""
	if err := dec.Decode(&q.body); err != nil {
		wrong = err.Error()
	} else if dec.More() {
		wrong = "Additional text encountered after finished reading JSON content"
	} else if q.body == nil {
		wrong = "the content is null"
	}
	if wrong != "" {
		return refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%s'.", wrong)
	}
	return c.readBody(q, rt)
}

func (c *Cloud) hasGroup(name string) bool {
	return strings.EqualFold(name, c.cfg.NodeResourceGroup) || strings.EqualFold(name, c.cfg.ClusterResourceGroup) ||
		slices.ContainsFunc(sortedKeys(c.nets), func(id string) bool { return strings.EqualFold(name, c.nets[id].part(4)) })
}

// finish writes the answer with the headers that every ARM answer carries, and logs the request.
func (c *Cloud) finish(w http.ResponseWriter, r *http.Request, start time.Time, rep *reply, e *apiError) {
	h := w.Header()
	id := guid("request", fmt.Sprint(start.UnixNano()), fmt.Sprint(c.log.next()))
	h.Set("x-ms-request-id", id)
	h.Set("x-ms-correlation-request-id", id)
	h.Set("Date", start.UTC().Format(http.TimeFormat))
	status, body := http.StatusOK, []byte(nil)
	code, denied := "", ""
	switch {
	case e != nil:
		status, code, denied = e.Status, e.Code, e.denied
		body, _ = json.Marshal(map[string]any{"error": e}) // plain fields: cannot fail
		if e.body != nil {
			body = e.body
		}
		for _, k := range sortedKeys(e.header) {
			h.Set(k, e.header[k])
		}
		if e.RetryAfter > 0 {
			setRetryAfter(h, e.RetryAfter)
		}
		h.Set("x-ms-failure-cause", "service")
	case rep != nil:
		status = rep.status
		for _, k := range slices.Sorted(maps.Keys(rep.header)) {
			h.Set(k, rep.header[k])
		}
		body, _ = rep.body.([]byte)
	}
	c.log.add(Request{Time: start, Took: c.cfg.Now().Sub(start), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Status: status, Code: code, Denied: denied})
	if body != nil {
		h.Set("Content-Type", "application/json; charset=utf-8")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone; there is nobody to tell
}

// setRetryAfter writes whole seconds as ARM does, rounded up, and the exact time in the header that azcore also reads,
// so that a lab in a hurry can be polled faster than once a second.
func setRetryAfter(h http.Header, d time.Duration) {
	h.Set("Retry-After", fmt.Sprint(int64((d+time.Second-1)/time.Second)))
	h.Set("Retry-After-Ms", fmt.Sprint(max(1, d.Milliseconds())))
}
