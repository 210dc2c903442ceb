/** What the pages of the reference link: the style sheet, and the script of their search. */

/** The style sheet of the reference: light and dark, and readable on a phone. */
export const style = `:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--soft:#555;--line:#c8c8c8;--blue:#1a56db;--shade:#f5f5f5}
@media (prefers-color-scheme:dark){:root{--ink:#eee;--paper:#151515;--soft:#b0b0b0;--line:#444;--blue:#8ab4ff;--shade:#202020}}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper);overflow-wrap:anywhere}
a{color:var(--blue)}h1{font-size:1.6rem}h2{margin-top:3rem;border-bottom:2px solid var(--line)}article h2,section h2{font-size:1.1rem}h3{font-size:1rem;margin-bottom:.25rem}
input,button{font:inherit;padding:.25rem .5rem}form{margin:1rem 0}
code,pre{font:.9em/1.4 ui-monospace,monospace}em{color:var(--soft);font-style:normal}pre{background:var(--shade);padding:.75rem;overflow-x:auto}
table{border-collapse:collapse;width:100%;margin:1rem 0}caption{text-align:left;font-weight:600}th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line)}
ul{padding-left:1.25rem}dt{margin-top:.5rem}dd{margin:0 0 0 1rem}summary{cursor:pointer;padding:.2rem 0}
:focus-visible{outline:3px solid var(--blue);outline-offset:2px}`

/** The script of the search on the index: shows the operations that contain every word, and opens with the query's. */
export const searchScript = `(function(){
var box=document.getElementById("q"),said=document.getElementById("found"),rows=[].slice.call(document.querySelectorAll("[data-operation]"));
var texts=rows.map(function(row){return row.textContent.toLowerCase()});
function search(){
var words=box.value.toLowerCase().split(" ").filter(Boolean),shown=0;
rows.forEach(function(row,at){var hit=words.every(function(word){return texts[at].indexOf(word)>=0});row.hidden=!hit;if(hit)shown++});
[].forEach.call(document.querySelectorAll("[data-group]"),function(group){group.hidden=!group.querySelector("[data-operation]:not([hidden])")});
said.textContent=words.length===0?"":shown===1?"1 operation":shown+" operations"}
box.value=new URLSearchParams(location.search).get("q")||"";box.addEventListener("input",search);search()})()`
