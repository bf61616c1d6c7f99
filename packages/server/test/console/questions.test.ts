import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { openDemoBrowser, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

const QUESTION = 'Refund order 4711 to the customer?'

let browser: DemoBrowser

/** Sends a message whose agent asks before it answers. */
async function ask(sessionId: string): Promise<string> {
  const { projectId, service } = browser.demo
  const message = { agent: 'support', sessionId, message: 'Please refund order 4711', waitMs: 0 }
  const sent = await service.messages.send({ projectId, ...message })
  const { id } = sent.message
  await vi.waitFor(async () => expect(await stateOf(id)).toBe('input_required'), {
    timeout: TIMEOUT_MS,
  })
  return id
}

async function stateOf(messageId: string): Promise<string | undefined> {
  const { projectId, service } = browser.demo
  const found = await service.messages.search({ projectId, messageId, limit: 1 })
  return found.data[0]?.message.state.kind
}

describe('questions in the console', { ...needs('chromium'), timeout: 2 * TIMEOUT_MS }, () => {
  beforeAll(async () => {
    browser = await openDemoBrowser()
  }, 3 * TIMEOUT_MS)
  afterAll(async () => browser.close())

  it.each([true, false])('are answered by their forms, with scripts: %s', async (hasScripts) => {
    const session = `refund-${hasScripts}`
    const id = await ask(session)
    await browser.signedIn(
      async (page) => {
        await page.getByRole('link', { name: /^Questions \d+ open$/ }).click()
        await page.locator(`a[href$="/questions/${id}"]`).click()
        await page.getByText(QUESTION).first().waitFor()
        await page.getByLabel('Amount in EUR').fill('42.5')
        await page.getByLabel('today').check()
        await page.getByLabel('End user who answers').fill('clerk-7')
        await page.getByRole('button', { name: 'Send the answer' }).click()
        await page.getByText('The answer is stored').waitFor()
        await vi.waitFor(async () => expect(await stateOf(id)).toBe('responded'), {
          timeout: TIMEOUT_MS,
        })
        await page.goto(browser.at(`/sessions/support?session=${session}`))
        const conversation = (await page.textContent('main')) ?? ''
        for (const part of [QUESTION, '42.5', 'today', 'clerk-7'])
          expect(conversation).toContain(part)
      },
      { javaScriptEnabled: hasScripts },
    )
  })

  it('are withdrawn after a warning', async () => {
    const id = await ask('refund-withdrawn')
    await browser.signedIn(async (page) => {
      await page.goto(browser.at(`/questions/${id}`))
      await page.getByRole('link', { name: 'Withdraw', exact: true }).click()
      await page.getByText('You cannot undo this.').waitFor()
      expect(await stateOf(id)).toBe('input_required')
      await page.getByRole('button', { name: 'Withdraw question' }).click()
      await page.waitForURL(/notice=inputWithdrawn/)
      expect(await stateOf(id)).toBe('failed')
    })
  })
})
