package arm

// KnobDoc says what one knob does, for people.
type KnobDoc struct {
	Name   string // as in YAML; a dot goes into an object, [] into the entries of a list
	Range  string // what it takes
	Unset  string // what holds when it is not turned
	Effect string
}

// KnobTable lists every knob, in the order of Knobs.
func KnobTable() []KnobDoc {
	const span = "duration ≥ 0, like 1.5s"
	return []KnobDoc{
		{"createTime", span, "0s", "from the PUT of a machine until it is there"},
		{"failTime", span, "createTime", "from the PUT of a machine until it fails, where it does"},
		{"deleteTime", span, "0s", "from the DELETE of a machine until it is gone"},
		{"childTime", span, "0s", "how long interfaces, disks and extensions take"},
		{"latency", span, "0s", "wait before every answer"},
		{"pollAfter", span, "1s", "Retry-After of long-running operations"},
		{"graphLag", span, "0s", "how far Resource Graph is behind"},
		{"pageSize", "number ≥ 0", "50", "machines, interfaces or disks that one page of a list shows"},
		{"evictNotice", span, "30s", "warning before a spot machine is taken back"},
		{"nicReservation", span, "180s", "how long an interface stays reserved for a machine that failed"},
		{"capacity[].size", "name of a size", "every size", "which machines a rule limits; the first rule that matches and is full refuses"},
		{"capacity[].zone", "1, 2, 3 or regional", "every zone", "the same"},
		{"capacity[].capacityType", "spot or on-demand", "both", "the same"},
		{"capacity[].limit", "number ≥ 0", "0", "machines of this kind at once; 0 = sold out"},
		{"capacity[].code", "ZonalAllocationFailed, SkuNotAvailable, …", "by zone", "the error code of the refusal"},
		{"capacity[].sync", "true or false", "false", "refuse the PUT itself; else the machine is accepted and fails"},
		{"quota", "vCPUs ≥ 0 by usage name; * = every family", "as Azure grants it", "quota of size families, of cores and of lowPriorityCores"},
		{"failures[].count", "number ≥ 0", "0", "how many of the next machines that match break"},
		{"failures[].size", "name of a size", "every size", "which machines break"},
		{"failures[].code", "error code", "must be given", "the error"},
		{"failures[].message", "text", "none", "its message"},
		{"failures[].status", "HTTP status 400 to 599", "0", "refuse the PUT itself with it; 0 = fail after accept"},
		{"failures[].details", "list of error codes", "none", "codes within the error"},
		{"throttle.every", "number ≥ 0", "off", "answer 429 to every nth request"},
		{"throttle.perWindow", "number ≥ 0", "off", "answer 429 to requests beyond so many in a window"},
		{"throttle.window", span, "must be given with perWindow", "length of that window"},
		{"throttle.retryAfter", span, "1s", "Retry-After of these answers"},
		{"throttle.budget", "factor ≥ 1; -1 = no limits", "1", "how many times the request budgets that Azure documents a caller has"},
		{"throttle.kinds", "list of read, list, write, delete, poll, graph", "all", "which requests every and perWindow count"},
		{"unreachable[].from", "time, RFC 3339", "since ever", "when nothing answers"},
		{"unreachable[].until", "time, RFC 3339", "for ever", "until when"},
		{"unreachable[].drop", "true or false", "false", "close the connection; else answer 503"},
		{"unreachable[].retryAfter", span, "none", "Retry-After of the 503"},
		{"prices", "USD per hour by region/size or region/size/spot", "built-in table", "price of a size"},
		{"images[].gallery", "name", "must be given", "adds a version of a node image: its gallery"},
		{"images[].image", "name; * = every image of the gallery", "must be given", "which image"},
		{"images[].version", "version", "must be given", "which version"},
		{"images[].published", "time, RFC 3339", "must be given", "since when it is there"},
		{"subnetAddresses", "number ≥ 0", "by the subnet's range", "addresses in each subnet"},
		{"deny", "list of actions; * = any text", "none", "actions that no role allows"},
	}
}
