package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"example.com/generated/messaging"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
		return nil
	}
	client := must(messaging.NewClientWithResponses(
		os.Getenv("BASE_URL"),
		messaging.WithHTTPClient(&http.Client{Timeout: 35 * time.Second}),
		messaging.WithRequestEditorFn(authorize),
	))

	var runtime messaging.Runtime
	if err := runtime.FromFunctionRuntime(messaging.FunctionRuntime{Handler: "echo"}); err != nil {
		log.Fatal(err)
	}
	agent := must(client.CreateAgentWithResponse(ctx, messaging.NewAgent{Name: "from-go", Runtime: runtime}))
	if agent.JSON201 == nil {
		log.Fatal(agent.Status(), string(agent.Body))
	}

	var principal messaging.ExecutionPrincipal
	if err := principal.FromEndUserPrincipal(messaging.EndUserPrincipal{EndUserId: "u-17"}); err != nil {
		log.Fatal(err)
	}
	key := "order-42-go"
	sent := must(client.SendMessageWithResponse(
		ctx, "from-go", &messaging.SendMessageParams{IdempotencyKey: &key},
		messaging.NewMessage{SessionId: "first", Message: "Hello", ExecutionPrincipal: &principal},
	))
	if sent.JSON200 == nil {
		log.Fatal(sent.Status(), string(sent.Body))
	}
	fmt.Println(sent.JSON200.Response)

	message := must(client.GetMessageWithResponse(ctx, "from-go", sent.JSON200.MessageId, nil))
	variant := must(message.JSON200.ExecutionPrincipal.ValueByDiscriminator())
	if user, isUser := variant.(messaging.EndUserPrincipal); isUser {
		fmt.Println(user.EndUserId)
	}

	missing := must(client.GetAgentWithResponse(ctx, "nobody"))
	fmt.Println(missing.JSON4XX.Error.Code)
}
