// Sends a message, and prints its answer while the agent writes it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

type event struct{ id, name, data string }

func baseURL() string {
	if url := os.Getenv("BASE_URL"); url != "" {
		return url
	}
	return "http://127.0.0.1:3000"
}

func request(method, path, body string, headers map[string]string) (*http.Response, error) {
	request, err := http.NewRequest(method, baseURL()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err == nil && response.StatusCode >= 400 {
		response.Body.Close()
		return nil, fmt.Errorf("%s %s: %s", method, path, response.Status)
	}
	return response, err
}

// read calls handle for each event of one connection. It returns the id of the last event.
// A quiet stream sends a heartbeat at least every 5 s, so 15 s of silence mean a dead connection.
func read(response *http.Response, lastID string, handle func(event)) string {
	defer response.Body.Close()
	silence := time.AfterFunc(15*time.Second, func() { response.Body.Close() })
	defer silence.Stop()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 8<<20) // the last event holds the whole answer
	var next event
	for lines.Scan() {
		silence.Reset(15 * time.Second)
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			next.id = value
		case "event":
			next.name = value
		case "data":
			next.data = value
		case "":
			if next.name != "" {
				lastID = next.id
				handle(next)
			}
			next = event{}
		}
	}
	return lastID
}

func main() {
	headers := map[string]string{
		"Content-Type": "application/json", "Idempotency-Key": "order-42-go-4", "Prefer": "respond-async",
	}
	body := `{"sessionId":"first","message":"Hello to all of you"}`
	sent, err := request(http.MethodPost, "/v1/agents/echo/messages", body, headers)
	if err != nil {
		log.Fatal(err)
	}
	sent.Body.Close()

	path, lastID, done := sent.Header.Get("Location")+"/stream", "", false
	for !done {
		var resume map[string]string
		if lastID != "" {
			resume = map[string]string{"Last-Event-ID": lastID}
		}
		response, err := request(http.MethodGet, path, "", resume)
		if err != nil {
			log.Fatal(err)
		}
		lastID = read(response, lastID, func(got event) {
			var data struct{ Text, State, Response string }
			_ = json.Unmarshal([]byte(got.data), &data)
			switch got.name {
			case "state":
				if data.State == "input_required" {
					fmt.Println(data.State) // a person must answer first: GET the message for its question
					os.Exit(0)
				}
			case "chunk": // a new "attempt" starts the answer again
				fmt.Println("piece:", data.Text)
			case "message": // always complete, even if pieces were missing
				fmt.Println(data.State, data.Response)
				done = true
			}
		})
		if !done {
			time.Sleep(time.Second)
		}
	}
}
