import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { openDemoBrowser, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

/** Longer than a page waits between two updates of its parts. */
const UPDATE_MS = 6_000

let browser: DemoBrowser
const at = (path: string): string => browser.at(path)
const text = async (page: Page): Promise<string> => (await page.textContent('main')) ?? ''
const webhook = (n: number): string => browser.demo.webhooks[n]?.id ?? ''

async function anotherWebhook() {
  const made = await browser.demo.service.webhooks.create({
    projectId: browser.demo.projectId,
    url: 'https://crm.example.com/third',
    events: ['agent.stopped'],
  })
  return made.webhook
}

/** Finds the position of each line of the first message. */
const LINES_SAID = `(() => {
  const range = document.createRange()
  range.selectNodeContents(document.querySelector('.said'))
  return [...range.getClientRects()].map(({ left, right }) => ({ left: Math.round(left), right: Math.round(right) })).filter(({ left, right }) => left < right)
})()`

describe('each page of the console', { ...needs('chromium'), timeout: 2 * TIMEOUT_MS }, () => {
  beforeAll(async () => {
    browser = await openDemoBrowser()
  }, 3 * TIMEOUT_MS)
  afterAll(() => browser.close())

  it('remembers the chosen theme', async () => {
    await browser.signedIn(
      async (page) => {
        const background = () =>
          page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
        const light = await background()
        await page.getByRole('button', { name: 'Switch to dark theme' }).click()
        const dark = await background()
        expect(dark).not.toBe(light)
        await page.goto(at('/agents'))
        expect(await background()).toBe(dark)
      },
      { colorScheme: 'light' },
    )
  })

  it('shows that a page is stale while the server does not respond', async () => {
    const { page } = await browser.visit()
    await page.clock.install()
    await page.goto(browser.signInUrl())
    const notice = 'Not updated since'
    const textAfterASecond = async () => (await page.clock.runFor(1_000), text(page))
    const options = { timeout: TIMEOUT_MS }
    await page.route('**', (route) => route.abort())
    await expect.poll(textAfterASecond, options).toContain(notice)
    await page.unroute('**')
    await expect.poll(textAfterASecond, options).not.toContain(notice)
    await page.route('**', (route) => route.fulfill({ status: 503 }))
    await expect.poll(textAfterASecond, options).toContain(notice)
    await page.close()
  })

  it('asks for the key when the session ends, and then shows the same page again', async () => {
    const { page } = await browser.visit()
    await page.clock.install()
    await page.goto(browser.signInUrl())
    await page.goto(at('/deliveries?status=delivered'))
    await page.context().clearCookies()
    await page.clock.runFor(UPDATE_MS)
    await page.waitForURL(at('/sign-in*'))
    await page.fill('#key', browser.demo.key)
    await page.keyboard.press('Enter')
    await page.waitForURL(at('/deliveries*'))
    expect(page.url()).toBe(at('/deliveries?status=delivered'))
    await page.close()
  })

  it.each([
    ['a form beside a list that is updated', '/webhooks', '#description', ''],
    ['a sent message', '/sessions/support?session=order-4711', '#message', 'Control+Enter'],
  ])('keeps the text of %s over a new sign-in', async (_, path, field, keys) => {
    const { page } = await browser.visit()
    await page.clock.install()
    const signIn = async (to: string) => {
      await page.waitForURL(at('/sign-in*'))
      await page.fill('#key', browser.demo.key)
      await page.keyboard.press('Enter')
      await page.waitForURL(at(to))
    }
    await page.goto(browser.signInUrl())
    await page.goto(at(path))
    await page.fill(field, 'a long text')
    await page.context().clearCookies()
    if (keys === '') await page.clock.runFor(UPDATE_MS)
    else await page.keyboard.press(keys)
    await signIn(`${path.split('?')[0]}*`)
    expect(await page.inputValue(field)).toBe('a long text')
    await page.goto(at(path))
    expect(await page.inputValue(field)).toBe('')

    await page.fill(field, 'of another person')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signIn('')
    await page.goto(at(path))
    expect(await page.inputValue(field)).toBe('')
    await page.close()
  })

  it('does not update a part with selected text until the selection ends', async () => {
    await browser.signedIn(async (page) => {
      await page.clock.install({ time: 0 })
      await page.clock.pauseAt(1_000)
      await page.goto(at(`/webhooks/${webhook(0)}`))
      let updates = 0
      page.on(
        'request',
        (request) => (updates += request.headers()['hx-request'] === 'true' ? 1 : 0),
      )
      await page.locator('#live .facts-list dt').first().dblclick()
      const selected = () => page.evaluate<string>('getSelection().toString()')
      const word = await selected()
      expect(word).not.toBe('')
      await page.clock.runFor(11_000)
      expect([await selected(), updates]).toEqual([word, 0])
      await page.getByRole('heading', { level: 1 }).click()
      const updated = page.waitForResponse(
        (answer) => answer.request().headers()['hx-request'] === 'true',
      )
      await page.clock.runFor(6_000)
      await updated
    })
  })

  it('shows Arabic from right to left', async () => {
    const message = 'نعم\nكيف حالك اليوم يا صديقي العزيز'
    await browser.demo.service.messages.send({
      projectId: browser.demo.projectId,
      agent: 'triage',
      sessionId: 'عربي',
      message,
      waitMs: 0,
    })
    await browser.signedIn(async (page) => {
      await page.goto(at(`/sessions/triage?session=${encodeURIComponent('عربي')}`))
      const [short, long] = await page.evaluate<{ left: number; right: number }[]>(LINES_SAID)
      expect(short?.right).toBe(long?.right)
      expect(short?.left).toBeGreaterThan(long?.left ?? Infinity)
    })
  })

  it('accepts a trailing slash in addresses', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(at('/'))
      expect(page.url()).toBe(at(''))
      await page.goto(at('/agents/'))
      expect(page.url()).toBe(at('/agents'))
    })
  })

  it('works with the keyboard', async () => {
    await browser.signedIn(async (page) => {
      await page.keyboard.press('Tab')
      expect(await page.evaluate<string>('document.activeElement.textContent.trim()')).toBe(
        'Skip to content',
      )
      for (let i = 0; i < 4; i++) await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.waitForURL(at('/agents'))
    })
  })

  it('copies an id', async () => {
    await browser.signedIn(
      async (page) => {
        await page.goto(at(`/webhooks/${webhook(0)}`))
        // The button shows it for a second.
        await Promise.all([
          page.locator('.copied').waitFor(),
          page.getByRole('button', { name: 'Copy ID' }).first().click(),
        ])
        expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(webhook(0))
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    )
  })

  it('works without scripts', async () => {
    await browser.signedIn(
      async (page) => {
        await page.goto(at('/sessions/support?session=order-4713'))
        await page.fill('#message', 'Can it be delivered to a neighbour?')
        await page.getByRole('button', { name: 'Send' }).click()
        await expect
          .poll(async () => (await page.reload(), text(page)), { timeout: TIMEOUT_MS })
          .toContain('Hansen, second floor')
        await page.goto(at(`/webhooks/${webhook(0)}`))
        await page.getByRole('link', { name: 'Recover' }).click()
        await page.selectOption('#status', 'delivered')
        await page.getByRole('button', { name: 'Count the matches' }).click()
        await page.getByRole('button', { name: /^Send .* again$/ }).click()
        await expect
          .poll(async () => (await page.reload(), text(page)), { timeout: TIMEOUT_MS })
          .toContain('done')
        await page.goto(at(`/webhooks/${(await anotherWebhook()).id}/delete`))
        await page.getByRole('button', { name: 'Delete webhook' }).click()
        expect(await text(page)).toContain('The webhook was deleted')
      },
      { javaScriptEnabled: false },
    )
  })
})
