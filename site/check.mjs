// Opens the built site in Chromium, and checks that the search works without other hosts.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { serve } from 'vitepress'
import { chromiumOptions, chromiumPath } from '../scripts/chromium.mjs'
import { freePort } from '../scripts/free-port.mjs'

if (chromiumPath()) await checkSearch()
else if (process.env.CI_STRICT === '1') throw new Error('Chromium is missing.')
else console.log('The search was not checked: Chromium is missing.')

async function checkSearch() {
  const port = await freePort()
  await serve({ root: fileURLToPath(new URL('.', import.meta.url)), port })
  const origin = `http://localhost:${port}`
  const browser = await chromium.launch(chromiumOptions())
  const page = await browser.newPage()
  const foreign = []
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:'))
      foreign.push(request.url())
  })
  await page.goto(origin)
  await page.getByRole('button', { name: 'Search' }).first().click()
  await page.getByRole('searchbox').fill('idempotency')
  await page.getByRole('option').first().click()
  await page.getByRole('heading', { level: 1 }).waitFor()
  assert.match(await page.locator('main').innerText(), /idempotency/i)
  assert.deepEqual(foreign, [])
  await browser.close()
  console.log(`The search leads to ${page.url()}.`)
  process.exit()
}
