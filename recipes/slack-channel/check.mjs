import assert from 'node:assert/strict'
import { QUESTIONS, withSlackApp } from './main.mjs'

await withSlackApp(async ({ slack, url, client }) => {
  const [first, second] = QUESTIONS
  // Slack repeats an event when the answer is late. The repeated event makes no second message.
  assert.equal(await slack.mention(url, first), 200)
  assert.equal(await slack.mention(url, first), 200)
  await slack.postsReach(1)
  assert.equal(await slack.mention(url, second), 200)
  await slack.postsReach(2)
  assert.deepEqual(slack.posts, [
    { channel: 'C1', thread: '100.1', text: 'You say: Hello' },
    { channel: 'C1', thread: '100.1', text: 'Before, you asked: Hello' },
  ])
  let messages = 0
  for await (const _ of client.messages.list('support')) messages++
  assert.equal(messages, 2)

  const forged = await fetch(`${url}/agent-messaging`, { method: 'POST', body: '{}' })
  assert.equal(forged.status, 401)
})
console.log('Each mention is answered once, in its thread.')
