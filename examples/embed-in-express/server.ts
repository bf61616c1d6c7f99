// An Express app with its own login. The API of the service stands behind this login.
import { setTimeout } from 'node:timers/promises'
import { createMessaging } from '@org/agent-messaging-node'
import express, { type Request } from 'express'

const isLocal = process.env['LOCAL_WEBHOOKS'] === '1' // never in production
const messaging = await createMessaging({
  database: process.env['DATABASE'] ?? 'file:messaging.db',
  agents: {
    // Replace this function by a call of your model. Each piece that it yields is streamed.
    async *assistant({ message }) {
      for (const word of `You said: ${message}`.split(/(?<= )/)) {
        yield word
        await setTimeout(50)
      }
    },
  },
  addresses: { allowLoopback: isLocal, allowHttp: isLocal },
})

/** Stands for your login, which sets `request.user`. */
const USERS = new Map([
  ['login=ada-secret', { id: 'ada' }],
  ['login=bob-secret', { id: 'bob' }],
])
type Host = Request & { user?: { readonly id: string } | undefined }

const app = express()
app.use((request: Host, _response, next) => {
  request.user = USERS.get(request.headers.cookie ?? '')
  next()
})

/** A user sends to sessions of this user only, and reads only there. */
const http = await messaging.http<Host>({
  authorize: (_request, host) =>
    host?.user && {
      caller: host.user.id,
      permissions: ['project:message'],
      sessions: { prefix: `${host.user.id}/` },
      principal: { endUserId: host.user.id },
    },
})
app.use(http.node) // before body parsers: the service needs the bytes of the body
app.use(express.json())
app.get('/', (_request, response) => void response.send('a page of the host'))

const port = Number(process.env['PORT'] ?? 3000)
const server = app.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}`))
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    server.close() // accepts no more connections
    await messaging.stop() // ends streams and waits, lets runs end, and closes the database
    process.exit()
  })
