// An agent with the SDK of ACP. Stores its sessions in files, and asks before it deletes one.
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { agent, methods, ndJsonStream, RequestError } from '@agentclientprotocol/sdk'

const fileOf = (sessionId) => `${encodeURIComponent(sessionId)}.json`
const read = (sessionId) => JSON.parse(readFileSync(fileOf(sessionId), 'utf8'))

agent({ name: 'notes' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: true },
  }))
  .onRequest(methods.agent.session.new, () => {
    const sessionId = randomUUID()
    writeFileSync(fileOf(sessionId), '[]')
    return { sessionId }
  })
  .onRequest(methods.agent.session.load, ({ params: { sessionId } }) => {
    if (!existsSync(fileOf(sessionId))) throw RequestError.sessionNotFound(sessionId)
    return {}
  })
  .onRequest(
    methods.agent.session.prompt,
    async ({ params: { sessionId, prompt, _meta }, client }) => {
      const say = (text) =>
        client.notify(methods.client.session.update, {
          sessionId,
          update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
        })
      const message = prompt.at(-1).text
      const { endUserId } = _meta['agent-messaging'].executionPrincipal
      if (message.startsWith('forget')) {
        await say(
          (await tryDelete(client, sessionId)) ? 'Forgotten.' : 'I am not allowed to forget.',
        )
      } else {
        const notes = read(sessionId)
        await say(
          notes.length === 0
            ? `Noted, ${endUserId}.`
            : `You told me, ${endUserId}: ${notes.join('; ')}.`,
        )
        writeFileSync(fileOf(sessionId), JSON.stringify([...notes, message]))
      }
      return { stopReason: 'end_turn' }
    },
  )
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))

/** Deletes the notes if the server permits. */
async function tryDelete(client, sessionId) {
  const { outcome } = await client.request(methods.client.session.requestPermission, {
    sessionId,
    toolCall: { toolCallId: 'forget', title: 'Delete all notes', kind: 'delete' },
    options: [
      { optionId: 'yes', name: 'Delete them', kind: 'allow_once' },
      { optionId: 'no', name: 'Keep them', kind: 'reject_once' },
    ],
  })
  if (outcome.optionId !== 'yes') return false
  rmSync(fileOf(sessionId))
  return true
}
