// The floor: sends each answer immediately.
import { Pool } from 'undici'
import { answer } from './answer.mjs'
import { signed } from './webhook.mjs'

const { url } = JSON.parse(process.argv[2])
const { origin, pathname } = new URL(url)
const pool = new Pool(origin)
let sent = 0

async function send({ messages, pauseMs }) {
  const finished = []
  for (let n = 0; n < messages; n++) {
    const messageId = String(sent++)
    const body = JSON.stringify({
      event: 'message.responded',
      data: { messageId, response: 'x'.repeat(450) },
    })
    finished.push({ messageId, at: Number(process.hrtime.bigint()) })
    const response = await pool.request({
      path: pathname,
      method: 'POST',
      headers: signed(body),
      body,
    })
    await response.body.dump()
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return finished
}
answer({}, { send })
