import type { RealServer } from './real-server.js'

const TEXT = 'pin 4711'

/** The result of `sendFromFourSessions` if one session gets its message, and the others nothing. */
export const ONE_SESSION = { answered: 25, texts: 1, refused: 75, leaked: [], stored: 1 }

/** Sends one message with one key from four sessions at once, a hundred times, to all servers. */
export async function sendFromFourSessions(servers: readonly RealServer[], agent: string) {
  const path = `/v1/agents/${agent}/messages`
  const key = { 'idempotency-key': 'key of several sessions' }
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      const sessionId = `session ${n % 4}`
      const server = servers[(n >> 2) % servers.length] as RealServer
      const response = await server.api('POST', path, { sessionId, message: TEXT }, key)
      const text = await response.text()
      return { sessionId, status: response.status, text, headers: [...response.headers] }
    }),
  )
  const answered = answers.filter(({ status }) => status === 200)
  const refused = answers.filter(
    ({ status, text }) => status === 422 && text.includes('"IDEMPOTENCY_MISMATCH"'),
  )
  const seen = JSON.stringify(refused)
  const { messageId } = JSON.parse(answered[0]?.text ?? '') as { readonly messageId: string }
  const listed = (await (await (servers[0] as RealServer).api('GET', path)).json()) as {
    readonly data: readonly { readonly message: string }[]
  }
  return {
    answered: answered.filter(({ sessionId }) => sessionId === answered[0]?.sessionId).length,
    texts: new Set(answered.map(({ text }) => text)).size,
    refused: refused.length,
    leaked: [messageId, TEXT, 'idempotent-replayed'].filter((part) => seen.includes(part)),
    stored: listed.data.filter(({ message }) => message === TEXT).length,
  }
}
