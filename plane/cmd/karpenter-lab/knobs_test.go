package main

import "testing"

func TestTurn(t *testing.T) {
	for _, c := range []struct{ name, doc, set, want string }{
		{"a new knob", `{}`, "createTime=5s", `{"createTime":"5s"}`},
		{"a number stays a number", `{}`, "throttle.every=3", `{"throttle":{"every":3}}`},
		{"neighbours stay", `{"throttle":{"window":"1s"},"latency":"2s"}`, "throttle.every=3", `{"latency":"2s","throttle":{"every":3,"window":"1s"}}`},
		{"a list", `{}`, "capacity=[{size: Standard_D2s_v5, limit: 0}]", `{"capacity":[{"limit":0,"size":"Standard_D2s_v5"}]}`},
		{"back to nothing", `{"latency":"2s"}`, "latency=", `{}`},
		{"prices have slashes, not dots", `{}`, "prices={westus3/Standard_D2s_v5: 0.5}", `{"prices":{"westus3/Standard_D2s_v5":0.5}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := turn([]byte(c.doc), []string{c.set})
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
	if got, err := turn([]byte(`{}`), []string{"latency"}); err == nil {
		t.Errorf("a setting without = gave %s", got)
	}
}

func TestSplitDir(t *testing.T) {
	t.Setenv(dirEnv, "")
	for _, c := range []struct {
		args []string
		dir  string
		rest int
	}{
		{[]string{"get", "nodes"}, defaultDir, 2},
		{[]string{"--dir", "a", "get", "nodes"}, "a", 2},
		{[]string{"--dir=a/b", "get"}, "a/b", 1},
		{[]string{"get", "--dir", "x"}, defaultDir, 3}, // kubectl's own, if it has one
		{nil, defaultDir, 0},
	} {
		dir, rest := splitDir(c.args)
		if dir != c.dir || len(rest) != c.rest {
			t.Errorf("%q: got %q and %q", c.args, dir, rest)
		}
	}
	t.Setenv(dirEnv, "elsewhere")
	if dir, _ := splitDir([]string{"get", "nodes"}); dir != "elsewhere" {
		t.Errorf("with %s=elsewhere: got %q", dirEnv, dir)
	}
}
