import assert from 'node:assert/strict'
import { chromium } from 'playwright-core'
import { chromiumOptions, chromiumPath } from '../../scripts/chromium.mjs'
import { withChat } from './main.mjs'

const LIMIT_MS = 30_000

await withChat(async (url) => {
  await checkStream(url)
  if (chromiumPath()) await checkPage(url)
  else if (process.env.CI_STRICT === '1') throw new Error('Chromium is missing.')
  else console.log('The page was not checked: Chromium is missing.')
})
console.log('The chat streams the answers and keeps the session.')

async function checkStream(url) {
  const body = JSON.stringify({ sessionId: 's', message: 'a b c d e f' })
  const response = await fetch(`${url}/api/chat`, { method: 'POST', body })
  const pieces = []
  for await (const piece of response.body) pieces.push(Buffer.from(piece).toString())
  assert.equal(pieces.join(''), 'You say: a b c d e f')
  assert.ok(pieces.length > 1, `the answer was not streamed: ${pieces.join()}`)
}

async function checkPage(url) {
  const browser = await chromium.launch(chromiumOptions())
  try {
    const page = await browser.newPage()
    await page.goto(url)
    for (const [message, answer] of [
      ['Hello', 'You say: Hello'],
      ['What did I say?', 'Before, you asked: Hello'],
    ]) {
      await page.getByLabel('Message').fill(message)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByText(`Agent: ${answer}`).waitFor({ timeout: LIMIT_MS })
    }
  } finally {
    await browser.close()
  }
}
