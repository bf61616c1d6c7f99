import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { openDemoBrowser, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

let browser: DemoBrowser
const webhook = (n: number): string => browser.demo.webhooks[n]?.id ?? ''

const MAX_TABS = 150
const FOCUSED = `(() => { const e = document.activeElement
  return (e.getAttribute('aria-label') ?? e.labels?.[0]?.textContent ?? e.textContent ?? '').trim() })()`

/** Presses Tab until a control with this name has the focus, as a person does. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const isIt = (text: string): boolean =>
    typeof name === 'string' ? text === name : name.test(text)
  for (let presses = 0; presses < MAX_TABS; presses++) {
    await page.keyboard.press('Tab')
    if (isIt(await page.evaluate<string>(FOCUSED))) return
  }
  throw new Error(`${MAX_TABS} tabs did not reach ${String(name)} on ${page.url()}`)
}

/** Goes to a control, presses Enter on it, and waits for the next page. */
async function press(page: Page, name: string | RegExp): Promise<void> {
  await tabTo(page, name)
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
}

async function type(page: Page, name: string | RegExp, text: string): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type(text)
}

const noticeOf = async (page: Page): Promise<string> =>
  (await page.locator('p.notice').textContent()) ?? ''

describe('the keyboard alone', { ...needs('chromium'), timeout: 2 * TIMEOUT_MS }, () => {
  beforeAll(async () => {
    browser = await openDemoBrowser()
  }, 3 * TIMEOUT_MS)
  afterAll(async () => browser.close())

  it('edits a webhook', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(browser.at(`/webhooks/${webhook(0)}`))
      await press(page, 'Edit')
      await type(page, /^Description/, 'the new CRM')
      await press(page, 'Save')
      expect(await page.locator('h1').textContent()).toContain('the new CRM')
    })
  })

  it('rotates a secret, after the question', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(browser.at(`/webhooks/${webhook(0)}`))
      await press(page, /^Rotate secret/)
      await press(page, 'Rotate secret')
      expect(await page.locator('#secret').textContent()).toMatch(/^whsec_/)
    })
  })

  it('opens a delivery from the list and sends it again', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(browser.at('/'))
      await press(page, 'Deliveries')
      await press(page, /^…[0-9a-f]{8}$/)
      await press(page, /^(Redeliver|Send now)$/)
      expect(await noticeOf(page)).not.toBe('')
    })
  })

  it('retries a failed message from the list', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(browser.at('/conversations?state=failed'))
      await press(page, /^Retry message/)
      expect(await noticeOf(page)).not.toBe('')
    })
  })

  it('sends a message with Ctrl and Enter', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(browser.at('/sessions/support?session=order-4711'))
      await type(page, 'Message', 'Typed by hand')
      await page.keyboard.press('Control+Enter')
      await page.getByText('Typed by hand').first().waitFor()
      const { projectId, service } = browser.demo
      const found = await service.messages.search({ projectId, limit: 1 })
      expect(found.data[0]?.message.message).toBe('Typed by hand')
    })
  })

  it('finds a message by the slash key', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(browser.at('/webhooks'))
      await page.keyboard.press('/')
      await page.keyboard.type('order-4712')
      await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
      expect(page.url()).toContain('order-4712')
    })
  })

  it('disables and enables a webhook', async () => {
    await browser.signedIn(async (page) => {
      await page.goto(browser.at(`/webhooks/${webhook(1)}`))
      await press(page, 'Disable')
      await press(page, 'Disable')
      const { projectId, service } = browser.demo
      const status = async () =>
        (await service.webhooks.get({ projectId, webhookId: webhook(1) })).status.kind
      expect(await status()).toBe('disabled')
      await press(page, 'Enable')
      expect(await status()).toBe('enabled')
    })
  })
})
