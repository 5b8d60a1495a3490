package arm

import (
	"net/http"
	"strings"
	"unicode"
)

// Limits of tags (documentation "Use tags to organize your Azure resources", limitations).
const (
	maxTags     = 50
	maxTagName  = 512
	maxTagValue = 256
)

// checkTags applies the limits and rules of tags (same page): characters, names that differ in case only are one name,
// and names that begin like Microsoft's own are kept for Microsoft. Azure documents no code for the last two.
func checkTags(body object) *apiError {
	all, given := body["tags"]
	if !given || all == nil {
		return nil
	}
	tags, isObject := all.(object)
	if !isObject {
		return refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: the tags are not an object.")
	}
	if len(tags) > maxTags {
		return refuse(http.StatusBadRequest, "InvalidTagsTooMany", "The resource has '%d' tags. The maximum number of tags allowed is '%d'.", len(tags), maxTags)
	}
	lower := map[string]bool{}
	for _, k := range sortedKeys(tags) {
		v, isString := tags[k].(string)
		low := strings.ToLower(k)
		switch {
		case strings.TrimSpace(k) == "" || len(k) > maxTagName:
			return refuse(http.StatusBadRequest, "InvalidTagNameLength", "Tag name '%.60s' is invalid: it must have 1 to %d characters.", k, maxTagName)
		case strings.ContainsAny(k, `<>%&\?/`) || strings.ContainsFunc(k, unicode.IsControl):
			return refuse(http.StatusBadRequest, "InvalidTagNameCharacters", `The tag names '%s' have reserved characters '<,>,*,%%,&,:,\,?,/' or control characters.`, k)
		case reservedTag(low):
			return refuse(http.StatusBadRequest, "ReservedTagName", "The tag names '%s' have reserved prefixes 'microsoft,azure,windows'.", k)
		case lower[low]:
			return refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: 'An item with the same key has already been added. Key: %s'.", k)
		case !isString:
			return refuse(http.StatusBadRequest, "InvalidRequestContent", "The value of tag '%s' is not a string.", k)
		case len(v) > maxTagValue:
			return refuse(http.StatusBadRequest, "InvalidTagValueLength", "Tag value '%.60s…' of tag '%s' is invalid: it may have at most %d characters.", v, k, maxTagValue)
		}
		lower[low] = true
	}
	return nil
}

func reservedTag(lower string) bool {
	for _, p := range []string{"microsoft", "azure", "windows"} {
		if strings.HasPrefix(lower, p) {
			return true
		}
	}
	return false
}
