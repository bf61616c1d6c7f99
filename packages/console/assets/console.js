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

document.addEventListener('htmx:afterSettle', shown)
shown()
