package manual

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	fenced = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	inCode = regexp.MustCompile("`[^`\n]*`")
	linked = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	header = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
	target = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noWord = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// anchors are the fragments under which a page can be reached: what is written for GitHub holds on
// the site, too.
func anchors(text string) map[string]bool {
	out := map[string]bool{"": true}
	for _, m := range header.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := target.ReplaceAllString(strings.ReplaceAll(m[1], "`", ""), "$1")
		slug := strings.ReplaceAll(noWord.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		name := slug
		for i := 1; out[name]; i++ {
			name = slug + "-" + strconv.Itoa(i)
		}
		out[name] = true
	}
	return out
}

// follow holds a link against what is there. It returns "" when all is well.
func follow(page, link string) string {
	u, err := url.Parse(link)
	switch {
	case err != nil:
		return "cannot be read"
	case u.Scheme == "https" && u.Host != "" && strings.Contains(u.Host, "."):
		return ""
	case u.Scheme != "" || u.Host != "":
		return "is neither https nor a file here"
	}
	path := page
	if u.Path != "" {
		path = filepath.Join(filepath.Dir(page), u.Path)
	}
	raw, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		if info, no := os.Stat(filepath.Join(root, path)); no == nil && info.IsDir() {
			if u.Fragment == "" {
				return ""
			}
		}
		return "leads to nothing"
	}
	if u.Fragment != "" && !anchors(string(raw))[u.Fragment] {
		return "leads to a page without such a section"
	}
	return ""
}

// Every link of every document leads to a file, and to a section of it, that is there; those to
// elsewhere are only looked at.
func TestLinksLeadSomewhere(t *testing.T) {
	pages := append(manualPages(t), "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md",
		"SECURITY.md", "CHANGELOG.md")
	n := 0
	for _, page := range pages {
		text := inCode.ReplaceAllString(fenced.ReplaceAllString(read(t, page), ""), "")
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			n++
			if bad := follow(page, m[1]); bad != "" {
				t.Errorf("%s: the link %s %s", page, m[1], bad)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d links were found", n)
	}
}

// The judge of links sees what is wrong with each of these.
func TestBadLinksAreSeen(t *testing.T) {
	for _, link := range []string{"nowhere.md", "docs/care.md#nothing", "#no-such-section",
		"docs#x", "http://example.com", "ftp://example.com/x", "/etc/passwd"} {
		if follow("README.md", link) == "" {
			t.Errorf("%s is found good", link)
		}
	}
	for _, link := range []string{"docs/care.md#drift-with-care", "docs/", "#two-commands",
		"https://kubernetes.io/docs"} {
		if bad := follow("README.md", link); bad != "" {
			t.Errorf("%s %s", link, bad)
		}
	}
}
