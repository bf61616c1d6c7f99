import { Configuration, MessagesApi } from './client'

const { BASE_URL = '', KEY = '' } = process.env
const api = new MessagesApi(new Configuration({ basePath: BASE_URL, accessToken: KEY }))

async function main() {
  const newMessage = { sessionId: 'typescript', message: 'Hello' }
  const sent = await api.sendMessage({
    id: 'echo',
    newMessage,
    idempotencyKey: 'order-42-typescript',
  })
  console.log(sent.response)
}
void main()
