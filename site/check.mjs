// Opens the built site in Chromium. Checks that the search works without other hosts, that it finds
// documentation before sources, and that its button and the menu fit a phone.
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
  const found = page.url()
  await page.goto(origin)
  await page.getByRole('button', { name: 'Search' }).first().click()
  await page.getByRole('searchbox').fill('createService')
  await page.getByRole('option').first().waitFor()
  const links = await page
    .getByRole('option')
    .locator('a')
    .evaluateAll((all) => all.map((one) => one.pathname))
  const isSource = (link) => !/^\/(?:docs\/)?[^/]*$/.test(link)
  assert.equal(
    links.findIndex(isSource),
    links.findLastIndex((link) => !isSource(link)) + 1,
    links.join('\n'),
  )
  await page.goto(origin)
  await page.getByRole('button', { name: 'Search' }).first().click()
  await page.getByRole('searchbox').fill('webhooks.rotateSecret')
  await page.locator('a[href*="/docs/reference"]').first().waitFor()
  await checkPhone(browser, origin)
  await browser.close()
  console.log(`The search leads to ${found}.`)
  process.exit()
}

/** The title, the search and the menu stand beside each other in the header. */
async function checkPhone(browser, origin) {
  const page = await browser.newPage({ viewport: { width: 320, height: 640 } })
  await page.goto(`${origin}/docs/api.html`)
  const header = page.locator('.VPNavBar')
  const boxes = await Promise.all(
    [
      header.locator('a.title'),
      header.locator('#local-search'),
      header.locator('.VPNavBarHamburger'),
    ].map((part) => part.boundingBox()),
  )
  const [title, search, menu] = boxes
  assert.ok(title && search && menu)
  assert.ok(title.x + title.width <= search.x && search.x + search.width <= menu.x + 1)
  assert.ok(menu.x + menu.width <= 320)
}
