package manual

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// site builds the site as make docs does, and says where it is.
func site(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "mkdocs", "build", "--quiet", "--strict", "--site-dir",
		dir)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("mkdocs (apt-get install mkdocs mkdocs-material): %v\n%s", err, out)
	}
	return dir
}

var (
	// loads finds what a browser loads by itself, links that a person follows aside.
	loads = regexp.MustCompile(`<(?:script|img|link|iframe|source|object|embed|video|audio)\b[^>]*`)
	from  = regexp.MustCompile(`\b(?:src|href|data|srcset)="?([^"\s>]+)`)
	style = regexp.MustCompile(`url\(["']?([^"')]+)|@import\s+["']([^"']+)`)
	// followed finds links to other pages.
	followed = regexp.MustCompile(`<a\b[^>]*\bhref="([^"]+)"`)
	// scripted finds scripts that scripts would load.
	scripted = regexp.MustCompile(`https?://[^"'\s]+\.js\b`)
	comment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
)

// mermaid is loaded for drawings in its language, of which there are none.
const mermaid = "https://unpkg.com/mermaid@"

// The site builds without a warning, has all pages and a search index, and no page of it loads
// anything from elsewhere, or what is not there.
func TestTheSiteStandsAlone(t *testing.T) {
	dir := site(t)
	pages, drawn := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text, at := string(raw), strings.TrimPrefix(path, dir+"/")
		switch filepath.Ext(path) {
		case ".html":
			pages++
			drawn += strings.Count(text, `class="mermaid"`)
			for _, tag := range loads.FindAllString(text, -1) {
				for _, m := range from.FindAllStringSubmatch(tag, -1) {
					local(t, dir, path, m[1])
				}
			}
			for _, m := range followed.FindAllStringSubmatch(text, -1) {
				lands(t, dir, path, m[1])
			}
		case ".css":
			for _, m := range style.FindAllStringSubmatch(comment.ReplaceAllString(text, ""), -1) {
				local(t, dir, path, m[1]+m[2])
			}
		case ".js":
			for _, url := range scripted.FindAllString(comment.ReplaceAllString(text, ""), -1) {
				if !strings.HasPrefix(url, mermaid) {
					t.Errorf("%s would load %s", at, url)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if drawn > 0 {
		t.Errorf("%d drawings are in mermaid, which a browser would load from elsewhere", drawn)
	}
	index, err := os.ReadFile(filepath.Join(dir, "search", "search_index.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"minimum-saving", "uncertain-home", "spec.disruption.budgets"} {
		if !strings.Contains(string(index), word) {
			t.Errorf("a search does not find %s", word)
		}
	}
	if want := len(manualPages(t)); pages < want {
		t.Errorf("%d pages, want %d and more", pages, want)
	}
}

// local holds that a page refers to a file of the site.
func local(t *testing.T, dir, page, ref string) {
	t.Helper()
	if strings.HasPrefix(ref, "data:") || strings.HasPrefix(ref, "#") {
		return
	}
	at := strings.TrimPrefix(page, dir+"/")
	if strings.Contains(ref, "//") {
		t.Errorf("%s loads %s from elsewhere", at, ref)
		return
	}
	ref, _, _ = strings.Cut(ref, "#")
	ref, _, _ = strings.Cut(ref, "?")
	base := filepath.Dir(page)
	if strings.HasPrefix(ref, "/") { // the page for what is not found stands anywhere
		base = dir
	}
	if _, err := os.Stat(filepath.Join(base, ref)); err != nil {
		t.Errorf("%s loads %s, which is not there", at, ref)
	}
}

// lands holds that a link within the site leads to a page, and to a place on it.
func lands(t *testing.T, dir, page, ref string) {
	t.Helper()
	at := strings.TrimPrefix(page, dir+"/")
	if strings.HasPrefix(ref, "https://") || at == "404.html" {
		return
	}
	name, place, _ := strings.Cut(ref, "#")
	to := page
	if name != "" {
		to = filepath.Join(filepath.Dir(page), name)
	}
	raw, err := os.ReadFile(to)
	if err != nil {
		t.Errorf("%s links to %s, which is not on the site", at, ref)
		return
	}
	if place != "" && !strings.Contains(string(raw), `id="`+place+`"`) {
		t.Errorf("%s links to %s, and that page has no such place", at, ref)
	}
}

// Every page but the decisions is in the navigation.
func TestPagesAreInTheNavigation(t *testing.T) {
	nav := read(t, "mkdocs.yml")
	for _, p := range manualPages(t) {
		name := strings.TrimPrefix(p, "docs/")
		if !strings.HasPrefix(name, "decisions/") && !strings.Contains(nav, ": "+name+"\n") {
			t.Errorf("docs/%s is not in the navigation of mkdocs.yml", name)
		}
	}
}

// manualPages are the pages under docs, by their path from the root.
func manualPages(t *testing.T) []string {
	t.Helper()
	var out []string
	all := filepath.Join(root, "docs")
	err := filepath.WalkDir(all, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			out = append(out, strings.TrimPrefix(filepath.ToSlash(path), "../../"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}
