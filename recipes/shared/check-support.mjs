// Checks the agent `support` of a recipe against the service and the model of this folder.
import assert from 'node:assert/strict'
import { createWebhookCatcher } from '@org/agent-messaging-client/webhooks/testing'
import { startModel } from './model.mjs'
import { ask, QUESTIONS, withAgents } from './talk.mjs'

const ANSWERS = ['It arrives on Friday.', `Before, you asked: ${QUESTIONS[0]}`]

/**
 * Asks two questions in one session. Asserts that the agent calls its tool, streams, knows its
 * history and reports by webhook, and that an error of the model fails the message. `protocol` is
 * the end of the URL that the agent's library requests.
 */
export async function checkSupport(folder, protocol) {
  const model = await startModel()
  const catcher = await createWebhookCatcher()
  try {
    await withAgents(folder, model.url, {}, async (client) => {
      const { url, secret } = catcher
      await client.webhooks.create({ url, secret, events: ['message.responded'] })
      for (const [n, message] of QUESTIONS.entries()) {
        const { pieces, final } = await all(ask(client, 'support', { sessionId: 's', message }))
        assert.equal(final.response, ANSWERS[n])
        assert.equal(pieces.join(''), ANSWERS[n])
        assert.ok(pieces.length > 1, `the answer was not streamed: ${pieces.join()}`)
        const { event } = await catcher.next('message.responded')
        assert.equal(event.data.response, ANSWERS[n])
      }
      const { final } = await all(ask(client, 'support', { sessionId: 'e', message: 'an error' }))
      assert.equal(final.state, 'failed')
    })
  } finally {
    await Promise.all([catcher.close(), model.close()])
  }
  assert.deepEqual([...new Set(model.requests)], [`/v1/${protocol}`])
  console.log('The agent calls its tool, streams its answers and knows the session.')
}

async function all(answer) {
  const pieces = []
  let next = await answer.next()
  for (; !next.done; next = await answer.next()) pieces.push(next.value)
  return { pieces, final: next.value }
}
