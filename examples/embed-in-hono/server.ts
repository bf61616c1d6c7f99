// A Hono app with its own login. The API of the service stands behind this login.
import { setTimeout } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import { createMessaging } from '@org/agent-messaging-node'
import { Hono } from 'hono'

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

/** Stands for your login, which sets the variable `user`. */
const USERS = new Map([
  ['login=ada-secret', { id: 'ada' }],
  ['login=bob-secret', { id: 'bob' }],
])
type Variables = { user: { readonly id: string } | undefined }

/** A user sends to sessions of this user only, and reads only there. */
const http = await messaging.http<Variables>({
  authorize: (_request, host) =>
    host?.user && {
      caller: host.user.id,
      permissions: ['project:message'],
      sessions: { prefix: `${host.user.id}/` },
      principal: { endUserId: host.user.id },
    },
})

const app = new Hono<{ Variables: Variables }>()
app.use(async (c, next) => {
  c.set('user', USERS.get(c.req.header('cookie') ?? ''))
  await next()
})
app.all('/v1/*', (c) => http.fetch(c.req.raw, c.var))
app.get('/', (c) => c.text('a page of the host'))

const port = Number(process.env['PORT'] ?? 3000)
const options = { fetch: app.fetch, port, hostname: '127.0.0.1', overrideGlobalObjects: false }
const server = serve(options, () => console.log(`http://127.0.0.1:${port}`))
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    server.close() // accepts no more connections
    await messaging.stop() // ends streams and waits, lets runs end, and closes the database
    process.exit()
  })
