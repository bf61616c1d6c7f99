// The pages work without this script, except for copying and live updates.
const showCopyButtons = () => {
  for (const button of document.querySelectorAll('[data-copy][hidden]')) button.hidden = false
}

const showCopied = (button) => {
  button.classList.add('copied')
  setTimeout(() => button.classList.remove('copied'), 1200)
}

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-copy]')
  if (button) void navigator.clipboard.writeText(button.dataset.copy).then(() => showCopied(button))
})

// Sends the form of the focused field.
document.addEventListener('keydown', (event) => {
  const isSend = event.key === 'Enter' && (event.ctrlKey || event.metaKey)
  if (isSend && event.target.matches?.('textarea')) event.target.form?.requestSubmit()
})

// Tells the server the time zone of the viewer. The first page is loaded again in that zone.
const { zone, method } = document.documentElement.dataset
const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone
if (ownZone && ownZone !== zone) {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  document.cookie = `agent_messaging_zone=${ownZone}; Path=/console; Max-Age=31536000; SameSite=Lax${secure}`
  const isStored = document.cookie.includes('agent_messaging_zone=')
  const isSame = sessionStorage.getItem('zone') === ownZone
  sessionStorage.setItem('zone', ownZone)
  if (method === 'GET' && isStored && !isSame) location.reload()
}

// Shows the values of a bar for the pointer and for the arrow keys.
const showReading = (plot, bar) => {
  for (const other of plot.querySelectorAll('g.read')) other.classList.remove('read')
  bar?.classList.add('read')
  plot.querySelector('.reading').textContent = bar?.dataset.reading ?? ''
}
document.addEventListener('pointerover', (event) => {
  const bar = event.target.closest?.('[data-reading]')
  if (bar) showReading(bar.closest('.plot'), bar)
})
document.addEventListener('focusout', (event) => {
  if (event.target.matches?.('.plot')) showReading(event.target)
})
document.addEventListener('keydown', (event) => {
  const plot = event.target
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key]
  if (step === undefined || !plot.matches?.('.plot')) return
  const bars = [...plot.querySelectorAll('[data-reading]')]
  const now = bars.findIndex((bar) => bar.matches('.read'))
  const next = now === -1 ? bars.length - 1 : Math.min(bars.length - 1, Math.max(0, now + step))
  showReading(plot, bars[next])
  event.preventDefault()
})

// Replaces the address of a form's result. Otherwise a reload would send the form again.
const { address } = document.querySelector('[data-address]')?.dataset ?? {}
if (address) history.replaceState(null, '', address)

// Skips the update of a part that has open details, selected text or the focus. A page in the
// background is not updated either.
document.addEventListener('htmx:beforeRequest', (event) => {
  const part = event.detail.elt
  const isInUse =
    part.querySelector('details[open], :focus-visible, .plot:hover') !== null || hasSelection(part)
  if (part.id === 'live' && (isInUse || document.hidden)) event.preventDefault()
})

const hasSelection = (part) => {
  const selection = getSelection()
  return selection !== null && !selection.isCollapsed && selection.containsNode(part, true)
}

// Shows that the page is stale while the server does not respond.
const stale = document.createElement('p')
stale.className = 'problem'
stale.role = 'alert'

const showStale = () => {
  if (stale.isConnected) return
  stale.textContent = `Not updated since ${new Date().toLocaleTimeString()}: the server does not respond.`
  document.querySelector('main').prepend(stale)
}
document.addEventListener('htmx:sendError', showStale)
document.addEventListener('htmx:responseError', showStale)
document.addEventListener('htmx:afterSwap', () => stale.remove())

// Screen readers read out each new answer, not the whole updated conversation.
const answerTexts = () =>
  [...document.querySelectorAll('.answered .said')].map((answer) => answer.textContent)
let announced = answerTexts().length

document.addEventListener('htmx:afterSettle', () => {
  showCopyButtons()
  const all = answerTexts()
  const news = document.getElementById('news')
  if (news && all.length > announced) news.textContent = all.at(-1)
  announced = all.length
})
showCopyButtons()

document.addEventListener('keydown', (event) => {
  const isTyping = event.target.matches?.('input, select, textarea')
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  const field = document.querySelector('.search input')
  if (!field) return
  event.preventDefault()
  field.focus()
  field.select()
})
