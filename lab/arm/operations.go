package arm

import (
	"fmt"
	"net/http"
	"time"
)

// maxOperations bounds the operations remembered. ARM keeps them for a while after they end; so do we.
const maxOperations = 20_000

// operation is long-running work (documentation "Track asynchronous Azure operations").
//
//	InProgress ──▶ Succeeded | Failed | Canceled
type operation struct {
	id         string
	status     string
	start, end time.Time
	err        *apiError
}

// newOperation begins one and forgets the oldest beyond the limit. The caller holds mu.
func (c *Cloud) newOperation() *operation {
	c.serial++
	op := &operation{id: guid("operation", fmt.Sprint(c.serial)), status: "InProgress", start: c.cfg.Now()}
	c.ops[op.id] = op
	c.opOrder = append(c.opOrder, op.id)
	if len(c.opOrder) > maxOperations {
		delete(c.ops, c.opOrder[0])
		c.opOrder = c.opOrder[1:]
	}
	return op
}

// finishOperation ends one, once; later ends are ignored. The caller holds mu.
func (c *Cloud) finishOperation(op *operation, err *apiError) {
	if op == nil || op.status != "InProgress" {
		return
	}
	op.end, op.err, op.status = c.cfg.Now(), err, "Succeeded"
	if err != nil {
		op.status = "Failed"
	}
}

// getOperation answers the URL of the Azure-AsyncOperation header.
func (c *Cloud) getOperation(q *call) (*reply, *apiError) {
	op := c.ops[q.vars["op"]]
	if op == nil {
		return nil, refuse(http.StatusNotFound, "NotFound", "The operation id '%s' could not be found.", q.vars["op"])
	}
	body := object{"name": op.id, "startTime": stamp(op.start), "status": op.status}
	rep := &reply{status: http.StatusOK, body: body, header: map[string]string{}}
	if op.status == "InProgress" {
		c.pollHeaders(rep.header)
	} else {
		body["endTime"] = stamp(op.end)
	}
	if op.err != nil {
		body["error"] = op.err
	}
	// The Location header's URL tells progress by status code alone (same page, "URL to monitor status").
	if q.query.Get("monitor") == "true" {
		switch {
		case op.status == "InProgress":
			rep.status, rep.body = http.StatusAccepted, nil
		case op.err != nil:
			return nil, refuse(http.StatusConflict, op.err.Code, "%s", op.err.Message)
		default:
			rep.status, rep.body = http.StatusNoContent, nil
		}
	}
	return rep, nil
}

// accepted adds the headers by which a client follows an operation of a namespace.
func (c *Cloud) accepted(q *call, op *operation, namespace string) map[string]string {
	url := fmt.Sprintf("%s/subscriptions/%s/providers/%s/locations/%s/operations/%s?api-version=%s",
		q.base, c.cfg.Subscription, namespace, c.cfg.Location, op.id, q.query.Get("api-version"))
	h := map[string]string{"Azure-AsyncOperation": url}
	if q.Method == http.MethodDelete || q.Method == http.MethodPost {
		h["Location"] = url + "&monitor=true"
	}
	c.pollHeaders(h)
	return h
}

func (c *Cloud) pollHeaders(h map[string]string) {
	d := c.knobs.PollAfter.D()
	if d == 0 {
		d = time.Second
	}
	hh := http.Header{}
	setRetryAfter(hh, d)
	for k := range hh {
		h[k] = hh.Get(k)
	}
}

// stamp prints a time as ARM does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.0000000Z07:00") }
