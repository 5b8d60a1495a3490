package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
)

// landings are the tests that play a landing in the lab, and print what came of it.
var landings = regexp.MustCompile(`landing of (\d+) pods([^:]*): told (true|false); machines planned (\d+), there (\d+); bought for again (\d+); seconds (\d+)`)

// writeLanding plays landings in the lab, n times with nominations and without, and prints what became of the pods. It needs the whole project
// around it, and takes about ten minutes each time.
func writeLanding(ctx context.Context, w io.Writer, n int) error {
	cmd := exec.CommandContext(ctx, "go", "test", "./plane/story", "-run", "^TestLanding", "-v", "-timeout", "2h", "-count", strconv.Itoa(n), "-apart", "300")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("landing: %w\n%s", err, out.Bytes())
	}
	found := landings.FindAllSubmatch(out.Bytes(), -1)
	if len(found) == 0 {
		return fmt.Errorf("landing: the tests printed nothing that can be read")
	}
	fmt.Fprintln(w, "| landing | kube-scheduler is told | machines planned | bought beside | pods that got what was bought for them | at least | all run after |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	for _, m := range found {
		number := func(i int) float64 {
			v, _ := strconv.ParseFloat(string(m[i]), 64) // digits, by the expression
			return v
		}
		told, least := "no", ""
		if string(m[3]) == "true" {
			told, least = "yes", "100 %"
		}
		pods := number(1)
		fmt.Fprintf(w, "| %.0f pods%s | %s | %.0f | %.0f | **%.1f %%** | %s | %.0f s |\n", pods, m[2], told, number(4), number(5)-number(4),
			100*(pods-number(6))/pods, least, number(7))
	}
	return nil
}
