// Listens on port 4000, or on PORT.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

var seen sync.Map // delivery ids: keep them in storage that outlives the process

func main() {
	secret := os.Getenv("WEBHOOK_SECRET")
	webhook, err := standardwebhooks.NewWebhook(secret)
	if err != nil || len(secret) < len("whsec_")+32 { // the library accepts an empty secret
		log.Fatal("WEBHOOK_SECRET must be the webhook's secret: whsec_ followed by base64")
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20)) // the service sends at most 6 MiB
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		if webhook.Verify(body, r.Header) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		if _, again := seen.LoadOrStore(r.Header.Get("X-Service-Delivery"), true); !again {
			var event struct{ Event string }
			_ = json.Unmarshal(body, &event)
			fmt.Println(event.Event)
		}
	})
	port := os.Getenv("PORT")
	if port == "" {
		port = "4000"
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
