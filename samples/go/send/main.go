// Sends a message, and waits for its end.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

// The service waits up to 30 s for the answer.
var client = &http.Client{Timeout: 35 * time.Second}

type message struct {
	State    string
	Response string
	Error    *struct{ Code, Message string }
	Input    struct{ ID, Question string }
}

func baseURL() string {
	if url := os.Getenv("BASE_URL"); url != "" {
		return url
	}
	return "http://127.0.0.1:3000"
}

func call(method, path, idempotencyKey string, body []byte) (*http.Response, []byte, error) {
	request, err := http.NewRequest(method, baseURL()+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 400 {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return response, text, err
}

// send repeats after a failure. The key prevents a second message.
func send(agent, key string, body []byte) (*http.Response, error) {
	var failure error
	for attempt := 0; attempt < 5; attempt++ {
		response, _, err := call(http.MethodPost, "/v1/agents/"+agent+"/messages", key, body)
		if err == nil {
			return response, nil
		}
		failure = err
		if response != nil && response.StatusCode != 429 && response.StatusCode < 502 {
			return nil, err // another send would fail too
		}
		time.Sleep(time.Second << attempt)
	}
	return nil, failure
}

// resultOf polls the state: the status of a failed message stays "pending".
func resultOf(path string) (message, error) {
	for {
		var found message
		_, text, err := call(http.MethodGet, path, "", nil)
		if err == nil {
			err = json.Unmarshal(text, &found)
		}
		if err != nil {
			return found, err
		}
		switch found.State {
		case "responded", "failed", "cancelled", "input_required":
			return found, nil // input_required: a person must answer found.Input first
		}
		time.Sleep(time.Second) // the Retry-After of the 202
	}
}

func main() {
	body := []byte(`{"sessionId":"first","message":"Hello"}`)
	sent, err := send("echo", "order-42-go-3", body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sent.StatusCode)
	result, err := resultOf(sent.Header.Get("Location"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.State, result.Response+result.Input.Question)
}
