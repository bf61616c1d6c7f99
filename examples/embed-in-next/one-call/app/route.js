// A program with createMessaging, for check.mjs.
import { createMessaging } from '@org/agent-messaging-node'

export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'

const agents = { shouter: ({ message }) => `${message.toUpperCase()}!` }

export async function GET() {
  const messaging = await createMessaging({ database: 'file:data.db', agents })
  const answer = await messaging.ask('shouter', 'hello')
  await messaging.stop()
  const postgres = { database: 'postgres://127.0.0.1:1/x', masterKey: '00'.repeat(32) }
  const refusal = await createMessaging(postgres).catch((error) => error.message)
  return Response.json([answer, refusal])
}
