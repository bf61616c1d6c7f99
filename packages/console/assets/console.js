// What the pages cannot do without a script: copying, and an address for what a form answered. Everything else works without.
const shown = () => {
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

// Reloading the answer of a form would send the form again: make another secret, recover once more.
const { address } = document.querySelector('[data-address]')?.dataset ?? {}
if (address) history.replaceState(null, '', address)

// A part that somebody reads closely, has marked something in, or is in with the keyboard, stays as it is; and nobody looks at a page in
// the background.
document.addEventListener('htmx:beforeRequest', (event) => {
  const part = event.detail.elt
  const isRead = part.querySelector('details[open], :focus-visible') !== null || isMarked(part)
  if (part.id === 'live' && (isRead || document.hidden)) event.preventDefault()
})

const isMarked = (part) => {
  const selection = getSelection()
  return selection !== null && !selection.isCollapsed && selection.containsNode(part, true)
}

// What is not renewed while the server is away must not look as if it were.
const stale = document.createElement('p')
stale.className = 'problem'
stale.role = 'alert'

const notRenewed = () => {
  if (stale.isConnected) return
  stale.textContent = `Not renewed since ${new Date().toLocaleTimeString()}: the server does not answer as it should.`
  document.querySelector('main').prepend(stale)
}
document.addEventListener('htmx:sendError', notRenewed)
document.addEventListener('htmx:responseError', notRenewed)
document.addEventListener('htmx:afterSwap', () => stale.remove())

// A renewed conversation is not read out as a whole, but the answer that came is.
const answers = () =>
  [...document.querySelectorAll('.answered .said')].map((answer) => answer.textContent)
let heard = answers().length

document.addEventListener('htmx:afterSettle', () => {
  shown()
  const all = answers()
  const news = document.getElementById('news')
  if (news && all.length > heard) news.textContent = all.at(-1)
  heard = all.length
})
shown()
