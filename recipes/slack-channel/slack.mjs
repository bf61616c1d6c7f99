// A Slack without people, on 127.0.0.1. Sends signed events to an app, and records its posts.
import { createHmac } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

export const SIGNING_SECRET = 'the-signing-secret-of-the-slack-app'

/** Returns the URL of the API, the posts, and functions to mention the app and to stop. */
export async function startSlack() {
  const posts = []
  const posted = new EventEmitter()
  const server = createServer(async (request, response) => {
    const fields = Object.fromEntries(new URLSearchParams(await text(request)))
    response.writeHead(200, { 'content-type': 'application/json' })
    if (request.url.endsWith('/chat.postMessage')) {
      posts.push({ channel: fields.channel, thread: fields.thread_ts, text: fields.text })
      posted.emit('post')
    }
    response.end('{"ok":true,"user_id":"U0APP","bot_id":"B0APP","team_id":"T1"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${server.address().port}/api/`,
    posts,
    /** Sends the event that Slack sends for a mention. Returns the status of the app's answer. */
    async mention(app, { id, channel, ts, thread, text }) {
      const event = { type: 'app_mention', user: 'U1', channel, ts, thread_ts: thread, text }
      const body = JSON.stringify({ type: 'event_callback', team_id: 'T1', event_id: id, event })
      const seconds = Math.floor(Date.now() / 1000)
      const mac = createHmac('sha256', SIGNING_SECRET).update(`v0:${seconds}:${body}`).digest('hex')
      const headers = {
        'content-type': 'application/json',
        'x-slack-request-timestamp': `${seconds}`,
        'x-slack-signature': `v0=${mac}`,
      }
      return (await fetch(`${app}/slack/events`, { method: 'POST', headers, body })).status
    },
    /** Resolves when the app has made this number of posts. */
    async postsReach(count) {
      const signal = AbortSignal.timeout(30_000)
      while (posts.length < count) await once(posted, 'post', { signal })
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
