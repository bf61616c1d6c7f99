import { createMessaging } from '@org/agent-messaging-node'
import { assistant } from './agents.js'
import { userOf } from './users.js'

/** What this process has once. Next.js loads this module several times, and again after an edit. */
const kept = (globalThis[Symbol.for('messaging')] ??= {})
kept.assistant = assistant // the next run calls the edited function

/** Returns the handlers of the service. The first call starts it. */
export const http = () => (kept.http ??= open().catch(retryLater))

function retryLater(error) {
  kept.http = undefined
  throw error
}

async function open() {
  const isLocal = process.env.LOCAL_WEBHOOKS === '1' // never in production
  const messaging = await createMessaging({
    database: process.env.DATABASE ?? 'file:messaging.db',
    agents: { assistant: (run) => kept.assistant(run) },
    addresses: { allowLoopback: isLocal, allowHttp: isLocal },
  })
  // Set NEXT_MANUAL_SIG_HANDLE=true. Otherwise Next.js ends the process before the service stops.
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => messaging.stop().finally(() => process.exit()))
  return messaging.http({ authorize: ({ headers }) => accessOf(userOf(headers.get('cookie'))) })
}

/** A user sends to sessions of this user only, and reads only there. */
const accessOf = (user) =>
  user && {
    caller: user,
    permissions: ['project:message'],
    sessions: { prefix: `${user}/` },
    principal: { endUserId: user },
  }
