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
