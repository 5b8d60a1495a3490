package control

import "time"

// A machine that is busy, or a cluster that is slow, makes everything take longer: passes, steps, and what tells the mirror of their
// effects. Who then looks as often as ever does the same work several times over, and takes the time that kube-scheduler and the API server
// need to get out of it. So passes and steps are followed by pauses in proportion to what they took.

const (
	// restShare is how many times as long as its pass took a loop rests when something changed meanwhile: it works at most one part in five of the time.
	restShare = 4
	// mostRest bounds that. Nothing that waits for a loop waits longer.
	mostRest = time.Second
	// mostEcho bounds how long a finished step is held back.
	mostEcho = 5 * time.Second
)

// rest is how long a loop lets changes gather before it looks again, by how long its last pass took.
func rest(took time.Duration) time.Duration { return min(max(settle, restShare*took), mostRest) }

// echoOf is how long a finished step is held back, by how long it took: its effect takes about as long to show.
func echoOf(took time.Duration) time.Duration { return min(max(echo, took), mostEcho) }
