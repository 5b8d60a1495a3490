package arm

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// serveAdmin is the lab's own door, for people and tests; it is no part of Azure, and no fault touches it:
//
//	GET  /lab/resources    every machine, interface, disk, file share and extension
//	GET  /lab/operations   what was asked, oldest first
//	GET  /lab/knobs        the knobs; PUT replaces them
//	POST /lab/evict?vm=…   takes a spot machine back; /lab/deallocate?vm=… switches any machine off
func (c *Cloud) serveAdmin(w http.ResponseWriter, r *http.Request) {
	t, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if c.cfg.AdminToken == "" || subtle.ConstantTimeCompare([]byte(t), []byte(c.cfg.AdminToken)) != 1 {
		http.Error(w, "the lab's own paths want its admin token as a bearer token", http.StatusUnauthorized)
		return
	}
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // the client may be gone; there is nobody to tell
	}
	did := func(err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /lab/resources":
		answer(c.Resources())
	case "GET /lab/operations":
		answer(c.Requests())
	case "GET /lab/knobs":
		answer(c.Knobs())
	case "PUT /lab/knobs":
		k, err := readKnobs(io.LimitReader(r.Body, maxBody))
		if err == nil {
			err = c.SetKnobs(k)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case "POST /lab/evict":
		did(c.Evict(r.URL.Query().Get("vm")))
	case "POST /lab/deallocate":
		did(c.Deallocate(r.URL.Query().Get("vm")))
	default:
		http.Error(w, "the lab serves GET resources, operations and knobs, PUT knobs, POST evict and deallocate here", http.StatusNotFound)
	}
}

// readKnobs refuses fields that do not exist: a knob with a typing error would turn nothing. It refuses a second document for the same
// reason.
func readKnobs(r io.Reader) (Knobs, error) {
	var k Knobs
	b, err := io.ReadAll(r)
	if err != nil {
		return Knobs{}, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&k); err != nil {
		return Knobs{}, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return Knobs{}, errors.New("something follows the knobs")
	}
	return k, nil
}
