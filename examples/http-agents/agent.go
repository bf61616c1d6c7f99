// Listens on port 5000, or on PORT.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

var secret = os.Getenv("SIGNING_SECRET")

// isGenuine: the key is the whole secret, and the signature covers the raw bytes of the body.
func isGenuine(body []byte, signature string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hmac.Equal([]byte("sha256="+hex.EncodeToString(mac.Sum(nil))), []byte(signature))
}

func main() {
	// An empty key would verify forged requests.
	if !strings.HasPrefix(secret, "whsec_") || secret == "whsec_" {
		log.Fatal("SIGNING_SECRET must be the agent's signing secret: whsec_ followed by base64")
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions { // a health check
			w.WriteHeader(http.StatusNoContent)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || !isGenuine(body, r.Header.Get("X-Service-Signature")) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var run struct{ Message string }
		_ = json.Unmarshal(body, &run)
		_ = json.NewEncoder(w).Encode(map[string]string{"response": "You say: " + run.Message})
	})
	port := os.Getenv("PORT")
	if port == "" {
		port = "5000"
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
