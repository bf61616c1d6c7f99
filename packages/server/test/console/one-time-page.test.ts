import { randomUUID } from 'node:crypto'
import { createHttpApp } from '@org/agent-messaging-adapter-http'
import { createService } from '@org/agent-messaging-core'
import { fakePlatform } from '@org/agent-messaging-testing'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumOptions } from '../../../../scripts/chromium.mjs'
import { needs } from '../../../../scripts/test-needs.js'
import { openListener } from '../../src/listener/http-listener.js'
import { TIMEOUT_MS } from './demo-browser.js'

const WORD = 'W'.repeat(1_000)

/** A question with a one-time link, on a real server. */
async function openQuestion() {
  const properties = {
    choice: { enum: [WORD, 'other'], title: WORD, description: WORD },
    note: { type: 'string' },
  }
  const platform = fakePlatform({
    handler: () => ({
      kind: 'input_required',
      question: WORD,
      schema: { type: 'object', properties, required: ['choice'] },
      context: [{ message: WORD, response: WORD }],
    }),
  })
  let url = ''
  const service = createService({ ...platform, publicUrl: () => url })
  const api = createHttpApp({ service, crypto: platform.crypto, newRequestId: randomUUID })
  const listener = await openListener({
    host: '127.0.0.1',
    port: 0,
    fetch: (request: Request) => api.fetch(request),
  })
  ;({ url } = listener)
  await service.start()
  const { id: projectId } = await service.projects.create({ name: 'test' })
  await service.webhooks.create({ projectId, url: 'https://receiver.example/', events: ['*'] })
  await service.agents.create({
    projectId,
    name: 'bot',
    runtime: { kind: 'fake' },
    desiredState: 'running',
  })
  const sent = { projectId, agent: 'bot', sessionId: 's', message: 'ask' }
  const { message } = await service.messages.send(sent)
  await platform.clock.advance(0)
  const body = platform.sender.requests
    .map((one) => one.body)
    .find((one) => one.includes('inputUrl'))
  const { data } = JSON.parse(body ?? '{}') as { data: { inputUrl: string } }
  const answer = (value: unknown) =>
    service.inputs.answer({
      projectId,
      agent: 'bot',
      messageId: message.id,
      inputId: message.inputs?.[0]?.id ?? '',
      value,
    })
  return { link: data.inputUrl, answer, close: async () => listener.close(1_000) }
}

describe('the page of a one-time link', { ...needs('chromium'), timeout: 2 * TIMEOUT_MS }, () => {
  let browser: Browser
  let asked: Awaited<ReturnType<typeof openQuestion>>
  beforeAll(async () => {
    asked = await openQuestion()
    browser = await chromium.launch(chromiumOptions())
  }, 3 * TIMEOUT_MS)
  afterAll(async () => {
    await browser.close()
    await asked.close()
  })

  const widthOf = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth')

  it('fits into 320 pixels, and keeps a text that is not stored', async () => {
    const context = await browser.newContext({ viewport: { width: 320, height: 640 } })
    const page = await context.newPage()
    page.setDefaultTimeout(TIMEOUT_MS)
    const note = page.locator('[name="value.note"]')
    const send = page.getByRole('button', { name: 'Send the answer' })
    await page.goto(asked.link)
    expect(await widthOf(page)).toBe(320)
    await note.fill('my words')
    await page.reload()
    expect(await note.inputValue()).toBe('my words')
    await send.click()
    await page.getByText('This needs an answer.').waitFor()
    expect([await widthOf(page), await note.inputValue()]).toEqual([320, 'my words'])
    await page.getByLabel('other').check()
    await context.setOffline(true)
    await send.click()
    await page.getByText('did not confirm your answer').waitFor()
    expect(await note.inputValue()).toBe('my words')
    await context.setOffline(false)
    await asked.answer({ choice: 'other' })
    await send.click()
    await page.getByRole('heading', { name: 'What you wrote' }).waitFor()
    expect(await page.locator('pre').allTextContents()).toContain('my words')
    expect(await widthOf(page)).toBe(320)
    await page.reload()
    expect(await page.locator('pre').allTextContents()).toContain('my words')
    await context.close()
  })
})
