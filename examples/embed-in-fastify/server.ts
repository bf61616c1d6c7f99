// A Fastify app with its own login, and a plugin with the API of the service behind this login.
import { setTimeout } from 'node:timers/promises'
import { createMessaging, type Messaging } from '@org/agent-messaging-node'
import Fastify, { type FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    messaging: Messaging
  }
  interface FastifyRequest {
    user: { readonly id: string } | null
  }
}

const isLocal = process.env['LOCAL_WEBHOOKS'] === '1' // never in production

const messagingPlugin = plugin(async (app) => {
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
  /** A user sends to sessions of this user only, and reads only there. */
  const http = await messaging.http<FastifyRequest>({
    authorize: (_request, host) =>
      host?.user
        ? {
            caller: host.user.id,
            permissions: ['project:message'],
            sessions: { prefix: `${host.user.id}/` },
            principal: { endUserId: host.user.id },
          }
        : undefined,
  })
  app.decorate('messaging', messaging)
  app.addHook('onRequest', (request, reply, done) =>
    http.node(request.raw, reply.raw, done, request),
  )
  app.addHook('preClose', () => messaging.stop()) // ends streams and waits, and lets runs end
})

/** Stands for your login, which sets `request.user`. */
const USERS = new Map([
  ['login=ada-secret', { id: 'ada' }],
  ['login=bob-secret', { id: 'bob' }],
])

const app = Fastify()
app.decorateRequest('user', null)
app.addHook('onRequest', async (request) => {
  request.user = USERS.get(request.headers.cookie ?? '') ?? null
})
await app.register(messagingPlugin) // after the login
app.get('/', () => 'a page of the host')

console.log(await app.listen({ port: Number(process.env['PORT'] ?? 3000), host: '127.0.0.1' }))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close())
