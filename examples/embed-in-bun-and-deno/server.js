// A server for Bun and for Deno with its own login. The API of the service stands behind this login.
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { createMessaging } from '@org/agent-messaging-node'

const isLocal = process.env.LOCAL_WEBHOOKS === '1' // never in production
const messaging = await createMessaging({
  database: process.env.DATABASE ?? 'file:messaging.db',
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

/** Stands for your login. */
const USERS = new Map([
  ['login=ada-secret', { id: 'ada' }],
  ['login=bob-secret', { id: 'bob' }],
])

/** A user sends to sessions of this user only, and reads only there. */
const http = await messaging.http({
  authorize: (_request, user) =>
    user && {
      caller: user.id,
      permissions: ['project:message'],
      sessions: { prefix: `${user.id}/` },
      principal: { endUserId: user.id },
    },
})

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    await messaging.stop() // ends streams and waits, lets runs end, and closes the database
    process.exit()
  })

export default {
  port: process.env.PORT ?? 3000,
  hostname: '127.0.0.1',
  idleTimeout: 60, // in seconds: a send waits up to 30 s for its answer
  fetch(request) {
    const user = USERS.get(request.headers.get('cookie') ?? '')
    const isApi = new URL(request.url).pathname.startsWith('/v1/')
    return isApi ? http.fetch(request, user) : new Response('a page of the host')
  },
}
