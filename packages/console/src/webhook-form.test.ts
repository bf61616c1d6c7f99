import { NO_FILTER } from './webhook-filter-form.js'
import { expect, it } from 'vitest'
import { sendingTexts, settingsOf } from './webhook-form.js'

const OTHERS = {
  url: 'https://mine.example/',
  description: '',
  events: ['*'],
  disableOnGone: false,
  ordering: 'none',
  hasFilter: true,
  ...NO_FILTER,
} as const

it.each([
  [undefined, '', null],
  [[], 'none', []],
  [[5_000, 60_000], '5000, 60000', [5_000, 60_000]],
])('the form shows the retry schedule %j as %j, and saves it unchanged', (given, text, saved) => {
  const texts = sendingTexts({ ...(given && { retrySchedule: given }) })
  expect(texts.retrySchedule).toBe(text)
  const { retrySchedule } = settingsOf({ ...OTHERS, events: [...OTHERS.events], ...texts })
  expect(retrySchedule).toEqual(saved)
})
