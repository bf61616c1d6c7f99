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

func main() {
	configuration := messaging.NewConfiguration()
	configuration.Servers = messaging.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	configuration.AddDefaultHeader("Authorization", "Bearer "+os.Getenv("KEY"))
	configuration.HTTPClient = &http.Client{Timeout: 35 * time.Second}
	client := messaging.NewAPIClient(configuration)

	message := messaging.NewMessageCreation("go", "Hello")
	request := client.MessagesAPI.SendMessage(context.Background(), "echo")
	sent, _, err := request.MessageCreation(*message).IdempotencyKey("order-42-go").Execute()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sent.Response)
}
